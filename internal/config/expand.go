package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// maxSecretFile bounds the bytes read for ${file:…} and for a _FILE variable.
const maxSecretFile = 64 << 10

// expand replaces ${NAME}, ${NAME:-default} and ${file:/path} in a text once; it does not expand the results. $$ and a
// $ before any other character mean a dollar sign.
func (l *loader) expand(text string) (string, []error) {
	var out strings.Builder
	var errs []error
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		switch {
		case !found:
			return out.String(), errs
		case strings.HasPrefix(after, "{"):
			reference, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", append(errs, errors.New("`${` has no closing `}`; write $$ for a dollar sign"))
			}
			value, err := l.lookUp(reference)
			if err != nil {
				errs = append(errs, err)
			}
			out.WriteString(value)
			text = rest
		default:
			out.WriteByte('$')
			text = strings.TrimPrefix(after, "$")
		}
	}
}

// lookUp returns the value of a reference, the text between ${ and }.
func (l *loader) lookUp(reference string) (string, error) {
	if path, ok := strings.CutPrefix(reference, "file:"); ok {
		return l.secretFile(path)
	}
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf(
			"`${%s}` is not a reference; write ${NAME}, ${NAME:-default}, ${file:/path}, or $$ for a dollar sign",
			reference)
	}
	value, set := l.opts.Getenv(name)
	switch {
	case value != "":
		return value, nil
	case hasFallback:
		return fallback, nil
	case !set:
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	return "", nil
}

// secretFile returns a file's content without trailing line ends.
func (l *loader) secretFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("`${file:}` names no file; write ${file:/path}")
	}
	b, err := l.opts.readSecret(path)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %w", path, cause(err))
	}
	if len(b) > maxSecretFile {
		return "", fmt.Errorf("the file %s is longer than %d KiB", path, maxSecretFile>>10)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// cause returns the error of a file operation without the path.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func isVariable(name string) bool {
	for _, c := range []byte(name) {
		if !isWordByte(c) {
			return false
		}
	}
	return name != "" && (name[0] < '0' || name[0] > '9')
}
