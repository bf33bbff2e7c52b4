package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile     = 1 << 20 // bytes of a configuration file
	maxLines    = 20_000  // the parser's time grows with the square of the number of lines
	maxBlank    = 500     // consecutive blank lines, for the same reason
	maxNesting  = 32      // nested brackets; the schema needs 5
	maxOnALine  = 4       // list dashes on one line, each a level deeper
	syntaxHint  = "; inside [ ] and { } write a ${NAME} in quotes: \"${NAME}\""
	plainYAML   = " is not supported; write plain YAML without it"
	oneDocument = "a second YAML document begins here; the configuration must be one document"
)

// parse parses YAML into a tree of only mappings, sequences and scalars. It returns nil for an empty text, and if it
// reports problems.
func (r *recorder) parse(file string, src []byte) ast.Node {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if len(src) > maxFile {
		r.reportAt(origin{file: file}, "", "the file is longer than %d KiB", maxFile>>10)
		return nil
	}
	if line, column, bad := invalidUTF8(src); bad {
		r.reportAt(origin{file: file, line: line, column: column}, "", "the text is not UTF-8")
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

// refuse reports unsupported constructs. It also keeps the parser from recursing as deep as a hostile text demands.
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
			r.reportAt(at, "", "the text is nested too deeply")
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

// parseTokens converts a panic of the parser into an error, because its input may be anything.
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
	r.reportAt(at, "", "not YAML: %s%s", inWords(e.GetMessage()), hint)
}

// inWords replaces the parser's messages about indentation, which speak of tokens and contexts.
func inWords(message string) string {
	switch {
	case strings.Contains(message, "found character '\t'"):
		return "the line has a tab, and YAML is indented with spaces only: replace it"
	case strings.Contains(message, "value is not allowed in this context"),
		strings.Contains(message, "non-map value is specified"), strings.Contains(message, "unexpected key name"):
		return "the line does not fit the lines above it: the keys of one block begin in the same column, " +
			"and each ends in a colon"
	}
	return message
}

// place returns the position of a token. The library counts line and column from 1, except for some tokens that it
// inserts.
func place(file string, tk *token.Token) origin {
	if tk == nil || tk.Position == nil {
		return origin{file: file, line: 1, column: 1}
	}
	return origin{file: file, line: max(1, tk.Position.Line), column: max(1, tk.Position.Column)}
}

// invalidUTF8 returns the position of the first byte that is not UTF-8.
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

// tooManyLines returns the limit on lines that a text exceeds, and the line of the excess. Lines end in LF, CR LF or
// CR.
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
			return fmt.Sprintf("the file has more than %d lines", maxLines), line
		}
		blank++
		if len(bytes.TrimSpace(text)) > 0 {
			blank = 0
		}
		if blank > maxBlank {
			return fmt.Sprintf("the file has more than %d blank lines in a row", maxBlank), line
		}
		src = rest
	}
	return "", 0
}
