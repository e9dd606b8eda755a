package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// caseFile is the form of cases.json.
type caseFile struct {
	Cases     []battle.Case `json:"cases"`
	Catalogue []battle.Item `json:"catalogue"`
}

// loadCases reads a file of cases, or the builtin one.
func loadCases(path string) (caseFile, error) {
	if path == "" {
		return parseCases("cases.json", builtinCases)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return caseFile{}, err
	}
	return parseCases(path, data)
}

// parseCases refuses everything that a battle would refuse, and says in which line.
func parseCases(name string, data []byte) (caseFile, error) {
	at, err := locate(data)
	if err != nil {
		return caseFile{}, fmt.Errorf("%s:%w", name, err)
	}
	for _, n := range at.nodes {
		if err := n.amount(); err != nil {
			return caseFile{}, fmt.Errorf("%s:%d: %s: %w", name, n.line, n.path, err)
		}
	}
	var cf caseFile
	if err := wire.Unmarshal(data, &cf); err != nil {
		return caseFile{}, at.place(name, at.sharpen(data, err))
	}
	if err := battleConfig(cf, battle.Pool).Validate(); err != nil {
		return caseFile{}, at.place(name, err)
	}
	return cf, nil
}

// node is a value in a JSON file. Its path is written as battle.Config.Validate does: cases[1].items[0].first.
type node struct {
	path       string
	line       int
	token      json.Token // a bracket, or the value itself
	start, end int        // bytes
}

// amount refuses cents that are no whole number in quotes: the mistake that is made most.
func (n node) amount() error {
	if !strings.HasSuffix(n.path, ".price") && !strings.HasSuffix(n.path, ".value") {
		return nil
	}
	text, ok := n.token.(string)
	if _, err := strconv.ParseInt(text, 10, 64); !ok || err != nil {
		return fmt.Errorf("%v, want whole cents in quotes, as in \"1250\"", n.token)
	}
	return nil
}

// atlas knows where everything in a JSON file stands.
type atlas struct{ nodes []node }

// locate walks through the file. Its error begins with the line.
func locate(data []byte) (atlas, error) {
	w := walk{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber()
	err := w.value("")
	if err == nil {
		if _, err = w.dec.Token(); errors.Is(err, io.EOF) {
			return w.atlas, nil
		}
		err = errors.New("something follows the end")
	}
	end := w.dec.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		end = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends too early")
	}
	return atlas{}, fmt.Errorf("%d: %w", w.line(end), err)
}

type walk struct {
	atlas
	data []byte
	dec  *json.Decoder
}

func (w *walk) line(end int64) int {
	return 1 + bytes.Count(w.data[:min(int(end), len(w.data))], []byte("\n"))
}

func (w *walk) value(path string) error {
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	end := w.dec.InputOffset()
	i := len(w.nodes)
	w.nodes = append(w.nodes, node{path: path, line: w.line(end), token: tok, start: int(end) - 1})
	switch tok {
	case json.Delim('{'):
		for w.dec.More() {
			name, err := w.dec.Token()
			if err != nil {
				return err
			}
			if err := w.value(strings.TrimPrefix(fmt.Sprintf("%s.%s", path, name), ".")); err != nil {
				return err
			}
		}
		_, err = w.dec.Token()
	case json.Delim('['):
		for n := 0; w.dec.More(); n++ {
			if err := w.value(fmt.Sprintf("%s[%d]", path, n)); err != nil {
				return err
			}
		}
		_, err = w.dec.Token()
	}
	w.nodes[i].end = int(w.dec.InputOffset())
	return err
}

var (
	pathIn  = regexp.MustCompile(`\b(?:cases|catalogue)(?:\[\d+\]|\.\w+)*`)
	nameIn  = regexp.MustCompile(`unknown field "([^"]+)"|name "([^"]+)" twice`)
	rowsIn  = regexp.MustCompile(`"([^"]+)"`)
	itemOf  = regexp.MustCompile(`^cases\[\d+\]\.items\[\d+\]$`)
	caseOf  = regexp.MustCompile(`^cases\[\d+\]$`)
	catalog = regexp.MustCompile(`^catalogue\[\d+\]$`)
)

// sharpen looks for the smallest part that cannot be decoded: the error about the whole may not say which it is.
func (at atlas) sharpen(data []byte, err error) error {
	if strings.Contains(err.Error(), "[") {
		return err
	}
	for _, part := range []struct {
		of   *regexp.Regexp
		make func() any
	}{
		{itemOf, func() any { return new(battle.CaseItem) }},
		{catalog, func() any { return new(battle.Item) }},
		{caseOf, func() any { return new(battle.Case) }},
	} {
		for _, n := range at.nodes {
			if !part.of.MatchString(n.path) {
				continue
			}
			if _, object := n.token.(json.Delim); !object {
				return fmt.Errorf("%s: %v does not fit here", n.path, n.token)
			}
			if err := wire.Unmarshal(data[n.start:n.end], part.make()); err != nil {
				return fmt.Errorf("%s: %w", n.path, err)
			}
		}
	}
	return err
}

// place puts file and line before an error that names a path.
func (at atlas) place(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), battle.ErrConfig.Error()+": ")
	path := pathIn.FindString(text)
	if m := nameIn.FindStringSubmatch(text); m != nil {
		path = strings.TrimPrefix(path+"."+m[1]+m[2], ".")
	}
	line := at.line(path)
	if strings.HasSuffix(path, ".items") { // a gap or an overlap: the message names the row
		if m := rowsIn.FindAllStringSubmatch(text, -1); m != nil {
			line = at.row(path, m[len(m)-1][1], line)
		}
	}
	return fmt.Errorf("%s:%d: %s", name, line, text)
}

// line is that of the path, or of the innermost thing around it that is there.
func (at atlas) line(path string) int {
	for {
		for _, n := range at.nodes {
			if n.path == path {
				return n.line
			}
		}
		cut := max(strings.LastIndexByte(path, '.'), strings.LastIndexByte(path, '['))
		if cut < 0 {
			return 1
		}
		path = path[:cut]
	}
}

func (at atlas) row(items, row string, line int) int {
	for _, n := range at.nodes {
		if n.token == row && strings.HasPrefix(n.path, items+"[") && strings.HasSuffix(n.path, ".row") {
			return n.line
		}
	}
	return line
}
