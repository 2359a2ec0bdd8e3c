module github.com/swtch-tools/swtch/functions/go

go 1.26
