package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"syscall"
)

// defaultFile is read from the working directory if no file is named.
const defaultFile = "weir.yaml"

// Options sets the sources of the configuration. The zero value means the process's own environment and weir.yaml in
// the working directory.
type Options struct {
	// File is the file of --config, which must exist. If empty, it is the file of WEIR_CONFIG, or weir.yaml if that
	// exists.
	File string
	// Listen and Data are the flags of these names; empty for not given.
	Listen, Data string
	// Managed is a Document in JSON, for objects that the file does not have; nil for none.
	Managed []byte
	// Getenv looks up a variable; nil for os.LookupEnv.
	Getenv func(name string) (string, bool)
	// Environ lists the variables as NAME=value; nil for os.Environ.
	Environ func() []string
	// ReadFile reads the configuration file and the files that it refers to; nil for the file system. Relative paths
	// are relative to the working directory.
	ReadFile func(path string) ([]byte, error)
	// readSecret reads a file that the configuration refers to.
	readSecret func(path string) ([]byte, error)
}

// withDefaults sets the functions that are nil.
func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.ReadFile == nil {
		o.ReadFile = readBounded
		o.readSecret = readRegular
	}
	if o.readSecret == nil {
		o.readSecret = o.ReadFile
	}
	return o
}

// readBounded reads a file up to one byte more than its maximum size.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// readRegular reads a file that people without access to this machine may name. It refuses devices and named pipes,
// which may never return data.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe without a writer
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return io.ReadAll(io.LimitReader(f, maxSecretFile+1))
}

// loader holds the state of one call of Load.
type loader struct {
	*recorder
	opts Options
}

// Load reads and checks the configuration. Every error is of type Problems and contains all mistakes. With an error,
// only File and Warnings of the Config are set.
func Load(opts Options) (Config, error) {
	l, cfg := load(opts)
	return l.result(cfg)
}

// load reads and checks the configuration. The loader has the mistakes.
func load(opts Options) (*loader, Config) {
	l := &loader{
		recorder: &recorder{origins: map[string]origin{}, unknown: map[string]bool{}},
		opts:     opts.withDefaults(),
	}
	cfg := Default()
	l.file(&cfg)
	l.managed(&cfg)
	l.environment(&cfg)
	l.flag(&cfg.Listen, "listen", opts.Listen)
	l.flag(&cfg.Data, "data", opts.Data)
	(&checker{l.recorder}).check(&cfg)
	cfg.Warnings, cfg.origins = l.warnings, l.origins
	return l, cfg
}

// result returns what Load returns.
func (l *loader) result(cfg Config) (Config, error) {
	if len(l.problems) > 0 {
		l.problems.sort()
		return Config{File: cfg.File, Warnings: cfg.Warnings}, l.problems
	}
	return cfg, nil
}

// path returns the path of the configuration file, and whether it was named explicitly.
func (o *Options) path() (path string, named bool) {
	if path = o.File; path == "" {
		path, _ = o.Getenv("WEIR_CONFIG")
	}
	if path == "" {
		return defaultFile, false
	}
	return path, true
}

// file reads the configuration file into cfg, if there is one.
func (l *loader) file(cfg *Config) {
	path, named := l.opts.path()
	src, err := l.opts.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return
	}
	cfg.File = path
	if err != nil {
		l.reportAt(origin{file: path}, "", "cannot be read: %v", cause(err))
		return
	}
	l.text(origin{file: path}, reflect.ValueOf(cfg).Elem(), "", src, l.expand)
}

// text decodes YAML into a part of the configuration.
func (l *loader) text(o origin, v reflect.Value, path string, src []byte, expand func(string) (string, []error)) {
	if body := l.parse(o.file, src); body != nil {
		d := decoder{recorder: l.recorder, file: o.file, expand: expand}
		d.value(v, path, body)
	}
}

func (l *loader) flag(field *string, path, value string) {
	if value != "" {
		l.mark(path, origin{file: "--" + path})
		*field = value
	}
}

// warn adds a warning.
func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}
