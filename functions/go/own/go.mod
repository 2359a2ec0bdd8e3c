module github.com/swtch-tools/swtch/functions/go/own

go 1.21
