package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Report collects mistakes that need more than the text to be found, such as an unknown provider, with their places in
// the configuration.
type Report struct {
	recorder *recorder
	config   *Config
}

// Check reads the configuration like Load, and calls further for more mistakes. It does so even if there are some
// already, so that one call finds all of them.
func Check(opts Options, further func(*Config, *Report)) (Config, error) {
	l, cfg := load(opts)
	further(&cfg, &Report{l.recorder, &cfg})
	return l.result(cfg)
}

// Report returns an empty report on the configuration.
func (c *Config) Report() *Report {
	return &Report{&recorder{origins: c.origins, unknown: map[string]bool{}}, c}
}

// Wrong adds a mistake at the place of a path, unless the report has a mistake of this path or of an enclosing one.
func (r *Report) Wrong(path, format string, args ...any) {
	for i := range r.recorder.problems {
		if rest, ok := strings.CutPrefix(path, r.recorder.problems[i].Path); ok && r.recorder.problems[i].Path != "" &&
			(rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	r.recorder.report(path, format, args...)
}

// File adds the reason why the file of a setting cannot be used.
func (r *Report) File(path string, err error) {
	why := strings.TrimPrefix(err.Error(), path+": ")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = fmt.Sprintf("%s: %v; relative paths begin at the working directory", e.Path, e.Err)
	}
	r.Wrong(path, "`%s` cannot be used: %s", path, why)
}

// Add adds a mistake of a file that the configuration names.
func (r *Report) Add(p Problem) { r.recorder.problems = append(r.recorder.problems, p) }

// Doubt adds a warning at the place of a path.
func (r *Report) Doubt(path, format string, args ...any) {
	at := Problem{Path: path, Message: clip(fmt.Sprintf(format, args...), maxMessage)}
	o := r.recorder.originOf(path)
	at.File, at.Line, at.Column = o.file, o.line, o.column
	r.config.Warnings = append(r.config.Warnings, at.Error())
}

// Err returns the mistakes as Problems; nil if there are none.
func (r *Report) Err() error {
	if len(r.recorder.problems) == 0 {
		return nil
	}
	r.recorder.problems.sort()
	return r.recorder.problems
}

// Path returns the path of keys, and of indexes in lists, such as providers.house.api_keys[1].
func Path(keys ...any) (path string) {
	for _, key := range keys {
		if i, ok := key.(int); ok {
			path = index(path, i)
			continue
		}
		path = join(path, fmt.Sprint(key))
	}
	return path
}
