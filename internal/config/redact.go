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

// Redacted returns the configuration as YAML in the form of the file, with every secret as "[redacted]" and every
// password in a URL as "xxxxx".
func (c Config) Redacted() []byte {
	var out bytes.Buffer
	writeBlock(&out, reflect.ValueOf(&c).Elem(), "")
	return out.Bytes()
}

// Setting is a value of the configuration with the path of its key, such as providers.openai.base_url, in the form of
// Redacted.
type Setting struct {
	Path, Value string
	From        string // place where it was set: a file and line, a variable or a flag; FromDefault or FromManaged
}

// These are the sources of values that neither a file, nor a variable, nor a flag sets.
const (
	FromDefault = "default"
	FromManaged = managedFile
)

// Settings returns the values of Redacted one by one, in its order.
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

// values adds the values of a struct or of a mapping by names. Shown is its path for people, path its key in origins.
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

// from returns the place where exactly this path was set.
func (l *settingList) from(path string) string {
	o, set := l.origins[path]
	switch {
	case !set:
		return FromDefault
	case o.line == 0 || o.file == managedFile: // people do not see its text
		return o.file
	}
	return o.file + ":" + strconv.Itoa(o.line)
}

// valueYAML formats a scalar or a list on one line.
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

// secretURLs returns the keys of secret URLs; only their passwords are hidden.
func secretURLs() []string { return []string{"database", "valkey", "proxy"} }

// scalarYAML formats one value; hide returns the visible form of a secret.
func scalarYAML(v reflect.Value, hide func(llm.Secret) string) string {
	switch x := v.Interface().(type) {
	case string:
		return quoteYAML(strings.ReplaceAll(x, "$", "$$"))
	case llm.Secret:
		if x.IsZero() { // an empty value is not secret
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

// hideURL returns a URL without its passwords, so that operators can see which database it names. Except for
// PostgreSQL, a user without a password is treated as a token.
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

// quoteYAML returns a text as a plain YAML scalar if that is safe, else in JSON's double quotes, which are valid YAML.
func quoteYAML(text string) string {
	if isPlain(text) {
		return text
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // encoding a string never fails
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// isPlain reports whether a text without quotes reads back as the same string.
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
