module github.com/glasshouse-go/glasshouse/ledger/sqlitestore

go 1.26.0

require (
	github.com/glasshouse-go/glasshouse v0.0.0
	github.com/ncruces/go-sqlite3 v0.37.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/glasshouse-go/glasshouse => ../..
