package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// Redacted is the configuration as YAML in the form of the file, with every
// secret as "[redacted]" and every password in a URL as "xxxxx".
func (c Config) Redacted() []byte {
	var out bytes.Buffer
	writeBlock(&out, reflect.ValueOf(&c).Elem(), "")
	return out.Bytes()
}

// Setting is one value of the configuration by the path of its key, such as
// providers.openai.base_url, written as Redacted writes it.
type Setting struct {
	Path, Value string
	From        string // where it was set: a file and line, a variable, a flag; FromDefault or FromManaged
}

// Where a value is from that neither a file, nor a variable, nor a flag has set.
const (
	FromDefault = "default"
	FromManaged = managedFile
)

// Settings are the values of Redacted one by one, in its order.
func (c Config) Settings() []Setting {
	l := settingList{origins: c.origins}
	l.values(reflect.ValueOf(&c).Elem(), "", "")
	return l.all
}

// settingList collects settings.
type settingList struct {
	all     []Setting
	origins map[string]origin
}

// values adds the values of a struct or of a mapping by names. Shown is its path for people, path that of origins.
func (l *settingList) values(v reflect.Value, shown, path string) {
	if shapeOf(v.Type()) == entryShape {
		for _, name := range entryNames(v) {
			elem, _ := entry(v, name)
			l.value(elem, shown, path, name)
		}
		return
	}
	for f, field := range v.Fields() {
		key, omitEmpty := tag(f)
		if key != "" && (!omitEmpty || !field.IsZero()) {
			l.value(field, shown, path, key)
		}
	}
}

func (l *settingList) value(v reflect.Value, shown, path, key string) {
	shown, path = strings.TrimPrefix(shown+"."+quoteYAML(key), "."), join(path, key)
	if s := shapeOf(v.Type()); s == scalarShape || s == listShape {
		l.all = append(l.all, Setting{shown, valueYAML(key, v), l.from(path)})
		return
	}
	before := len(l.all)
	if l.values(v, shown, path); len(l.all) == before {
		l.all = append(l.all, Setting{shown, "{}", l.from(path)})
	}
}

// from is where the value of exactly this path was set.
func (l *settingList) from(path string) string {
	o, set := l.origins[path]
	switch {
	case !set:
		return FromDefault
	case o.line == 0 || o.file == managedFile: // whose text nobody sees
		return o.file
	}
	return o.file + ":" + strconv.Itoa(o.line)
}

// valueYAML is a scalar or a list, in one line.
func valueYAML(key string, v reflect.Value) string {
	if shapeOf(v.Type()) == listShape {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = scalarYAML(v.Index(i), llm.Secret.String)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	if slices.Contains(secretURLs(), key) {
		return scalarYAML(v, hideURL)
	}
	return scalarYAML(v, llm.Secret.String)
}

// writeBlock writes the keys of a struct or of a mapping by names.
func writeBlock(out *bytes.Buffer, v reflect.Value, indent string) {
	if shapeOf(v.Type()) == entryShape {
		for _, name := range entryNames(v) {
			elem, _ := entry(v, name)
			writeKey(out, name, elem, indent)
		}
		return
	}
	for f, field := range v.Fields() {
		key, omitEmpty := tag(f)
		if key != "" && (!omitEmpty || !field.IsZero()) {
			writeKey(out, key, field, indent)
		}
	}
}

func writeKey(out *bytes.Buffer, key string, v reflect.Value, indent string) {
	fmt.Fprintf(out, "%s%s:", indent, quoteYAML(key))
	switch shapeOf(v.Type()) {
	case scalarShape, listShape:
		fmt.Fprintf(out, " %s\n", valueYAML(key, v))
	default:
		var block bytes.Buffer
		writeBlock(&block, v, indent+"  ")
		if block.Len() == 0 {
			block.WriteString(" {}\n")
		} else {
			out.WriteByte('\n')
		}
		out.Write(block.Bytes())
	}
}

// secretURLs are the keys whose secret is a URL, of which the rest is shown.
func secretURLs() []string { return []string{"database", "valkey", "proxy"} }

// scalarYAML is one value; hide says what is shown of a secret.
func scalarYAML(v reflect.Value, hide func(llm.Secret) string) string {
	switch x := v.Interface().(type) {
	case string:
		return quoteYAML(strings.ReplaceAll(x, "$", "$$"))
	case llm.Secret:
		if x.IsZero() { // that there is none is no secret
			return quoteYAML("")
		}
		return quoteYAML(strings.ReplaceAll(hide(x), "$", "$$"))
	case time.Duration:
		return formatDuration(x)
	case *int:
		return fmt.Sprint(*x)
	case *bool:
		return fmt.Sprint(*x)
	case fmt.Stringer:
		return quoteYAML(x.String())
	default:
		return fmt.Sprint(x)
	}
}

// hideURL is a URL without its passwords, so that one sees which database is
// meant. A user without a password is taken for a token, but for PostgreSQL's.
func hideURL(s llm.Secret) string {
	u, err := url.Parse(s.Reveal())
	if err != nil || u.Scheme == "" || u.Host == "" {
		return s.String()
	}
	if _, has := u.User.Password(); u.User != nil && !has && !strings.HasPrefix(u.Scheme, "postgres") {
		u.User = url.User("xxxxx")
	}
	query := u.Query()
	for key := range query {
		if strings.Contains(strings.ToLower(key), "pass") {
			query[key] = []string{"xxxxx"}
		}
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	return u.Redacted()
}

// quoteYAML is a text as a plain YAML scalar where that is safe, else in the
// double quotes of JSON, which YAML reads as well.
func quoteYAML(text string) string {
	if isPlain(text) {
		return text
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // no string fails to encode
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// isPlain reports whether a text reads back as the same string without quotes.
func isPlain(text string) bool {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if text == "" || slices.Contains(words, strings.ToLower(text)) || !isWordByte(text[0]) || text[0] >= '0' &&
		text[0] <= '9' {
		return false
	}
	for _, c := range []byte(text) {
		if !isWordByte(c) && strings.IndexByte("-./", c) < 0 {
			return false
		}
	}
	return true
}
