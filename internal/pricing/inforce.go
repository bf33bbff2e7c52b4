package pricing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// InForce are the prices by which a gateway counts. All its methods may be called at once.
type InForce struct {
	mu  sync.Mutex
	now *Edition // nil before the first
}

// Edition is a book and what it is made of.
type Edition struct {
	Book *Book
	// Overrides are those of the book: its Files are the last ones without a mistake.
	Overrides Overrides
	problem   error             // of the files as they are now; nil where they are in the book
	paths     []string          // of the price files
	stamps    map[string]string // what they were when they were read, by path
}

// Problem is the first mistake of the price files, for operators; empty where they are in the book.
func (e *Edition) Problem() string {
	if e.problem == nil {
		return ""
	}
	return brief(e.problem)
}

// Now are the prices in force; nil before the first.
func (p *InForce) Now() *Edition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Read makes a book of those overrides and of the price files of these paths. Where the
// files have a mistake, it is made of those that are in force; without any it is an error.
func (p *InForce) Read(o Overrides, paths []string) (*Edition, error) {
	next := &Edition{Overrides: o, paths: paths, stamps: stampsOf(paths)}
	next.Overrides.Files, next.problem = ReadFiles(paths)
	if next.problem == nil {
		next.Book, next.problem = NewBook(next.Overrides)
	}
	last := p.Now()
	if next.problem == nil || last == nil {
		return next, next.problem
	}
	var err error // without the new files, a mistake is the configuration's
	next.Overrides.Files = last.Overrides.Files
	next.Book, err = NewBook(next.Overrides)
	return next, err
}

// Use puts prices in force.
func (p *InForce) Use(next *Edition, log *slog.Logger) {
	p.mu.Lock()
	p.now = next
	p.mu.Unlock()
	if next.problem != nil {
		log.Error("the price files have a mistake; the prices before it stay in force; \"weir prices check\" says all",
			"err", brief(next.problem))
	}
	if unknown := next.Book.Warnings(); len(unknown) > 0 {
		log.Warn("the price files name what the price data does not know; \"weir prices check\" says all", "first",
			brief(unknown))
	}
}

// Renew puts price files in force that have changed, and returns the book that they are in; nil
// where none has changed.
func (p *InForce) Renew(log *slog.Logger) *Book {
	now := p.Now()
	if maps.Equal(stampsOf(now.paths), now.stamps) {
		return nil
	}
	next, err := p.Read(now.Overrides, now.paths)
	if err != nil {
		log.Error("the price files could not be applied", "err", err)
		return nil
	}
	p.Use(next, log)
	if next.problem == nil {
		log.Info("price files reloaded")
	}
	return next.Book
}

// brief is the first line of an error, and how many follow.
func brief(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		return fmt.Sprintf("%s (and %d more)", first, strings.Count(rest, "\n")+1)
	}
	return first
}

// Age is the day of the embedded data, and what is wrong with the price files, in words
// for strangers.
func (p *InForce) Age() (day time.Time, problem string) {
	now := p.Now()
	if now.problem != nil {
		problem = "a price file has a mistake; the prices before it stay in force; the log says which"
	}
	return dateOf(now.Book.Day()), problem
}

// shipped is the embedded data, as a metric names it.
const shipped = "shipped"

// Days tells the day of the embedded data and of each price file: the last day on which a
// source of it was looked at, or that of its last change.
func (p *InForce) Days(tell func(source string, n float64)) {
	book := p.Now().Book
	tell(shipped, float64(dateOf(book.Day()).Unix()))
	names := fileLabels(book.Files())
	for i, f := range book.Files() {
		at := dateOf(f.Seen)
		if f.Seen == "" {
			info, err := os.Stat(f.Path)
			if err != nil {
				continue
			}
			at = info.ModTime()
		}
		tell(names[i], float64(at.Unix()))
	}
}

// fileLabels are the names of price files without their directories, which are nobody's
// business who reads metrics; with their places in the list where two have the same name.
func fileLabels(files []FileInfo) []string {
	names, count := make([]string, len(files)), map[string]int{shipped: 1}
	for i := range files {
		names[i] = filepath.Base(files[i].Path)
		count[names[i]]++
	}
	for i, name := range names {
		if count[name] > 1 {
			names[i] = fmt.Sprintf("%s#%d", name, i+1)
		}
	}
	return names
}

// dateOf is the first moment of a date of price data, in UTC.
func dateOf(date string) time.Time {
	t, _ := time.Parse(time.DateOnly, date) // the tests read the data, and a book its files
	return t
}

// stampsOf say of each path what its file is, as far as that shows from outside.
func stampsOf(paths []string) map[string]string {
	all := make(map[string]string, len(paths))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			all[path] = "none"
			continue
		}
		all[path] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return all
}

// ReadFiles reads the files of those paths.
func ReadFiles(paths []string) (files []File, err error) {
	for _, path := range paths {
		f, e := ReadFile(path)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		files = append(files, f)
	}
	return files, err
}

// ReadFile reads the file at the path.
func ReadFile(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return File{}, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	return File{Path: path, Text: text}, nil
}
