package config

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile     = 1 << 20 // bytes of a configuration file
	maxLines    = 20_000  // and its lines; the parser's time grows with their square
	maxBlank    = 500     // blank lines in a row, for the same reason
	maxNesting  = 32      // brackets inside brackets; the schema needs 5
	maxOnALine  = 4       // list dashes on one line, each a level deeper
	syntaxHint  = "; inside [ ] and { } a ${NAME} needs quotes: \"${NAME}\""
	plainYAML   = "; the configuration is plain YAML without it"
	oneDocument = "a second document; the configuration is one"
)

// parse reads YAML into a tree of mappings, sequences and scalars alone. It
// reports what keeps it from that and returns nil then, as for an empty text.
func (r *recorder) parse(file string, src []byte) ast.Node {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if len(src) > maxFile {
		r.reportAt(origin{file: file}, "", "longer than %d KiB", maxFile>>10)
		return nil
	}
	if line, column, bad := invalidUTF8(src); bad {
		r.reportAt(origin{file: file, line: line, column: column}, "", "not UTF-8")
		return nil
	}
	if what, line := tooManyLines(src); what != "" {
		r.reportAt(origin{file: file, line: line, column: 1}, "", "%s", what)
		return nil
	}
	before := len(r.problems)
	tokens := lexer.Tokenize(string(src))
	r.refuse(file, tokens)
	if len(r.problems) > before {
		return nil
	}
	f, err := parseTokens(tokens)
	if err != nil {
		r.reportSyntax(file, src, err)
		return nil
	}
	for _, doc := range f.Docs {
		if doc.Body != nil {
			return doc.Body
		}
	}
	return nil
}

// refuse reports what the configuration does without, which also keeps the
// parser from recursing as deep as a hostile text says.
func (r *recorder) refuse(file string, tokens token.Tokens) {
	depth, line, dashes := 0, 0, 0
	for i, tk := range tokens {
		at := place(file, tk)
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType, token.MappingKeyType,
			token.DirectiveType:
			r.reportAt(at, "", "%s `%s`%s", construct(tk.Type), tk.Value, plainYAML)
		case token.DocumentHeaderType:
			if hasContent(tokens[:i]) {
				r.reportAt(at, "", oneDocument)
			}
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			if at.line != line {
				line, dashes = at.line, 0
			}
			dashes++
		}
		if depth > maxNesting || dashes > maxOnALine {
			r.reportAt(at, "", "nested too deeply")
			return
		}
	}
}

func construct(t token.Type) string {
	switch t {
	case token.AnchorType:
		return "an anchor"
	case token.AliasType:
		return "a reference to an anchor"
	case token.TagType:
		return "a tag"
	case token.MergeKeyType:
		return "a merge key"
	case token.DirectiveType:
		return "a directive"
	default:
		return "an explicit key"
	}
}

func hasContent(tokens token.Tokens) bool {
	for _, tk := range tokens {
		if tk.Type != token.CommentType {
			return true
		}
	}
	return false
}

// parseTokens turns a panic of the parser into an error, because what it reads
// may be anything.
func parseTokens(tokens token.Tokens) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not YAML: %v", p)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func (r *recorder) reportSyntax(file string, src []byte, err error) {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok || e.GetToken() == nil {
		r.reportAt(origin{file: file, line: 1, column: 1}, "", "%v", err)
		return
	}
	at, hint := place(file, e.GetToken()), ""
	lines := bytes.Split(src, []byte{'\n'})
	if at.line <= len(lines) && bytes.Contains(lines[at.line-1], []byte("${")) {
		hint = syntaxHint
	}
	r.reportAt(at, "", "not YAML: %s%s", e.GetMessage(), hint)
}

// place is where a token stands. The library counts both from 1 but for a few
// tokens of its own making.
func place(file string, tk *token.Token) origin {
	if tk == nil || tk.Position == nil {
		return origin{file: file, line: 1, column: 1}
	}
	return origin{file: file, line: max(1, tk.Position.Line), column: max(1, tk.Position.Column)}
}

// invalidUTF8 is the place of the first byte that is not UTF-8.
func invalidUTF8(src []byte) (line, column int, bad bool) {
	line, column = 1, 1
	for len(src) > 0 {
		c, n := utf8.DecodeRune(src)
		switch {
		case c == utf8.RuneError && n == 1:
			return line, column, true
		case c == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		src = src[n:]
	}
	return 0, 0, false
}

// tooManyLines says which bound on lines a text breaks, and in which line.
// Lines end in LF, CR LF or CR.
func tooManyLines(src []byte) (what string, line int) {
	blank := 0
	for len(src) > 0 {
		text, rest := src, []byte(nil)
		if i := bytes.IndexAny(src, "\r\n"); i >= 0 {
			text, rest = src[:i], src[i+1:]
			if src[i] == '\r' {
				rest = bytes.TrimPrefix(rest, []byte{'\n'})
			}
		}
		if line++; line > maxLines {
			return fmt.Sprintf("more than %d lines", maxLines), line
		}
		blank++
		if len(bytes.TrimSpace(text)) > 0 {
			blank = 0
		}
		if blank > maxBlank {
			return fmt.Sprintf("more than %d blank lines in a row", maxBlank), line
		}
		src = rest
	}
	return "", 0
}
