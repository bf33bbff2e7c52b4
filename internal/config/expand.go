package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// maxSecretFile bounds what ${file:…} and a _FILE variable read, in bytes.
const maxSecretFile = 64 << 10

// expand replaces ${NAME}, ${NAME:-default} and ${file:/path} in a text, once:
// what they stand for is not looked at again. $$ is a dollar sign, and so is
// one with anything else behind it.
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
				return "", append(errs, errors.New("`${` without its `}`; write $$ for a dollar sign"))
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

// lookUp is what the text between ${ and } stands for.
func (l *loader) lookUp(reference string) (string, error) {
	if path, ok := strings.CutPrefix(reference, "file:"); ok {
		return l.secretFile(path)
	}
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf(
			"`${%s}` is no reference; write ${NAME}, ${NAME:-default}, ${file:/path}, or $$ for a dollar sign",
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

// secretFile is a file's content without the line ends behind it.
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

// cause is what went wrong with a file, without its path.
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
