package config

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestNonsenseNumbersAreRefused sets each number, duration and size of weir.yaml to values without a meaning.
func TestNonsenseNumbersAreRefused(t *testing.T) {
	t.Parallel()
	fields := numbersOf(reflect.TypeFor[Config](), "", nil)
	if len(fields) < 50 {
		t.Fatalf("found %d numbers: %v", len(fields), fields)
	}
	for _, f := range fields {
		for _, value := range f.nonsense {
			text := documentWith(f.path, value)
			_, err := Load(Options{
				ReadFile: func(path string) ([]byte, error) {
					if path == "weir.yaml" {
						return []byte(text), nil
					}
					return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
				},
				Getenv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
			})
			if err == nil {
				t.Errorf("%s: %s is accepted", f.path, value)
			} else if name := strings.TrimSuffix(f.path[strings.LastIndex(f.path, ".")+1:], "s[]"); !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %s: the error does not name it: %v", f.path, value, err)
			}
		}
	}
}

// numberField is a number of the configuration.
type numberField struct {
	path     string
	nonsense []string
}

// numbersOf returns the numbers of a type. A map or list has one element, x.
func numbersOf(t reflect.Type, path string, found []numberField) []numberField {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return append(found, numberField{path, []string{"-1s", "2562047h"}})
	case t == reflect.TypeFor[Bytes]():
		return append(found, numberField{path, []string{"-1", "9223372036854775807"}})
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint64, reflect.Float64:
		nonsense := []string{"-1", "9223372036854775807"}
		if name := path[strings.LastIndex(path, ".")+1:]; strings.Contains(name, "margin") || name == "error_percent" {
			nonsense = append(nonsense, "1001") // percent
		}
		return append(found, numberField{path, nonsense})
	case reflect.Pointer:
		return numbersOf(t.Elem(), path, found)
	case reflect.Map:
		name := "x"
		if path == "models" {
			name = "x/y"
		}
		return numbersOf(t.Elem(), path+"."+name, found)
	case reflect.Slice:
		return numbersOf(t.Elem(), path+"[]", found)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name != "" && name != "-" && f.IsExported() {
				found = numbersOf(f.Type, strings.TrimPrefix(path+"."+name, "."), found)
			}
		}
	}
	return found
}

// documentWith returns a document with one value.
func documentWith(path, value string) string {
	var b strings.Builder
	names := strings.Split(path, ".")
	for i, name := range names {
		b.WriteString(strings.Repeat("  ", i) + strings.TrimSuffix(name, "[]") + ":")
		if i < len(names)-1 {
			b.WriteString("\n")
		}
	}
	if strings.HasSuffix(path, "[]") {
		value = "[" + value + "]"
	}
	return b.String() + " " + value + "\n"
}
