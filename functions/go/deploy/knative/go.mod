module function

go 1.24.0
