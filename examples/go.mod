module github.com/glasshouse-go/glasshouse/examples

go 1.26.0

require (
	github.com/glasshouse-go/glasshouse v0.0.0
	github.com/schollz/progressbar/v3 v3.19.1
	github.com/stretchr/testify v1.12.1
	golang.org/x/term v0.44.0
)

require (
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
)

require (
	github.com/glasshouse-go/glasshouse/ledger/sqlitestore v0.0.0
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/glasshouse-go/glasshouse => ..

replace github.com/glasshouse-go/glasshouse/ledger/sqlitestore => ../ledger/sqlitestore
