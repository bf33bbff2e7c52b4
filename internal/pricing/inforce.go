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

// InForce holds the gateway's current prices. All methods are safe for concurrent use.
type InForce struct {
	mu  sync.Mutex
	now *Edition // nil before the first
}

// Edition is a book with its inputs.
type Edition struct {
	Book *Book
	// Overrides are the book's. Its Files are the last ones without a mistake.
	Overrides Overrides
	problem   error             // of the present files; nil if the book contains them
	paths     []string          // of the price files
	stamps    map[string]string // state of each file when it was read, by path
}

// Problem returns the first mistake of the price files, for operators; empty if the book contains them.
func (e *Edition) Problem() string {
	if e.problem == nil {
		return ""
	}
	return brief(e.problem)
}

// Now returns the current prices; nil before the first Use.
func (p *InForce) Now() *Edition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Read builds a book from those overrides and the price files at these paths. If the files have a mistake, it uses the
// current files instead; without any it returns an error.
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
	var err error // with the current files, a mistake is in the configuration
	next.Overrides.Files = last.Overrides.Files
	next.Book, err = NewBook(next.Overrides)
	return next, err
}

// Use makes prices current.
func (p *InForce) Use(next *Edition, log *slog.Logger) {
	p.mu.Lock()
	p.now = next
	p.mu.Unlock()
	if next.problem != nil {
		log.Error("the price files have a mistake; the previous prices stay in force; "+
			"\"weir prices check\" shows all mistakes", "err", brief(next.problem))
	}
	if unknown := next.Book.Warnings(); len(unknown) > 0 {
		log.Warn("the price files contain unknown names; \"weir prices check\" shows all", "first",
			brief(unknown))
	}
}

// Renew rereads the price files if one has changed, and returns the new book; nil if none has changed.
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

// brief returns the first line of an error, and the number of further lines.
func brief(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		return fmt.Sprintf("%s (and %d more)", first, strings.Count(rest, "\n")+1)
	}
	return first
}

// Age returns the day of the embedded data, and the problem of the price files in words that reveal no details.
func (p *InForce) Age() (day time.Time, problem string) {
	now := p.Now()
	if now.problem != nil {
		problem = "a price file has a mistake; the previous prices stay in force; see the log"
	}
	return dateOf(now.Book.Day()), problem
}

// shipped is the name of the embedded data in metrics.
const shipped = "shipped"

// Days reports the day of the embedded data and of each price file: the last day on which a source of the file was
// checked, or the day of its last change.
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

// fileLabels returns the names of price files without their directories, which metrics must not reveal. Equal names get
// their index in the list.
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

// dateOf returns the start of a day of price data, in UTC.
func dateOf(date string) time.Time {
	t, _ := time.Parse(time.DateOnly, date) // tests check the data, and a book checks its files
	return t
}

// stampsOf returns size and modification time of each file.
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

// ReadFiles reads the files at those paths.
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
