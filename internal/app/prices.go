package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/config"
	"weir/internal/dashboard"
	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/provider"
)

// priceFilesEvery is how often a running gateway looks whether a price file has changed.
const priceFilesEvery = 2 * time.Second

// prices are those in force.
type prices struct {
	mu      sync.Mutex
	inForce *priced // nil before the first
}

// priced is a book and what it is made of.
type priced struct {
	book      *pricing.Book
	overrides pricing.Overrides // its Files are the last ones without a mistake
	paths     []string          // of the price files
	stamps    map[string]string // what they were when they were read, by path
	problem   error             // of the files as they are now; nil where they are in the book
}

// now are the prices in force; nil before the first.
func (p *prices) now() *priced {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inForce
}

// read makes a book of those overrides and of the price files of these paths. Where the
// files have a mistake, it is made of those that are in force; without any it is an error.
func (p *prices) read(o pricing.Overrides, paths []string) (*priced, error) {
	next := &priced{overrides: o, paths: paths, stamps: stampsOf(paths)}
	next.overrides.Files, next.problem = readPriceFiles(paths)
	if next.problem == nil {
		next.book, next.problem = pricing.NewBook(next.overrides)
	}
	last := p.now()
	if next.problem == nil || last == nil {
		return next, next.problem
	}
	var err error // without the new files, a mistake is the configuration's
	next.overrides.Files = last.overrides.Files
	next.book, err = pricing.NewBook(next.overrides)
	return next, err
}

// use puts prices in force.
func (p *prices) use(next *priced, log *slog.Logger) {
	p.mu.Lock()
	p.inForce = next
	p.mu.Unlock()
	if next.problem != nil {
		log.Error("the price files have a mistake; the prices before it stay in force; \"weir prices check\" says all",
			"err", brief(next.problem))
	}
	if unknown := next.book.Warnings(); len(unknown) > 0 {
		log.Warn("the price files name what the price data does not know; \"weir prices check\" says all", "first",
			brief(unknown))
	}
}

// brief is the first line of an error, and how many follow.
func brief(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		return fmt.Sprintf("%s (and %d more)", first, strings.Count(rest, "\n")+1)
	}
	return first
}

// age is the day of the embedded data, and what is wrong with the price files, in words
// for strangers.
func (p *prices) age() (day time.Time, problem string) {
	now := p.now()
	if now.problem != nil {
		problem = "a price file has a mistake; the prices before it stay in force; the log says which"
	}
	return dayOf(now.book.Day()), problem
}

// shipped is the embedded data, as a metric names it.
const shipped = "shipped"

// days tells the day of the embedded data and of each price file: the last day on which a
// source of it was looked at, or that of its last change.
func (p *prices) days(tell func(source string, n float64)) {
	book := p.now().book
	tell(shipped, float64(dayOf(book.Day()).Unix()))
	names := fileLabels(book.Files())
	for i, f := range book.Files() {
		at := dayOf(f.Seen)
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
func fileLabels(files []pricing.FileInfo) []string {
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

// dayOf is the first moment of a date of price data, in UTC.
func dayOf(date string) time.Time {
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

// readPriceFiles reads the files of those paths.
func readPriceFiles(paths []string) (files []pricing.File, err error) {
	for _, path := range paths {
		f, e := readPriceFile(path)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		files = append(files, f)
	}
	return files, err
}

func readPriceFile(path string) (pricing.File, error) {
	f, err := os.Open(path)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return pricing.File{}, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, pricing.MaxFile+1))
	if err != nil {
		return pricing.File{}, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	return pricing.File{Path: path, Text: text}, nil
}

// knownProviders are the names that a price file may have for a provider beside those of
// the data.
func knownProviders(cfg *config.Config, catalogue provider.Catalogue) (names []string) {
	for i := range catalogue {
		names = append(names, catalogue[i].Name)
	}
	for i := range cfg.Providers {
		names = append(names, cfg.Providers[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// reloadPrices puts price files in force that have changed.
func (g *instance) reloadPrices() {
	p := &g.fleet.prices
	now := p.now()
	if maps.Equal(stampsOf(now.paths), now.stamps) {
		return
	}
	next, err := p.read(now.overrides, now.paths)
	if err != nil {
		g.options.Log.Error("the price files could not be applied", "err", err)
		return
	}
	p.use(next, g.options.Log)
	g.router.Use(g.router.Table().Priced(next.book))
	if next.problem == nil {
		g.options.Log.Info("price files reloaded")
	}
}

// sources are where the prices in force are from, for the pages of operators.
func (p *prices) sources(overrides map[string]map[string]string, at time.Time) dashboard.PriceSources {
	now := p.now()
	s := dashboard.PriceSources{Overrides: overrides, Data: now.book.Source(), Day: now.book.Day()}
	s.Age = daysSince(dayOf(s.Day), at)
	if now.problem != nil {
		s.Problem = brief(now.problem)
	}
	for _, f := range now.book.Files() {
		s.Files = append(s.Files, dashboard.PriceFile(f))
	}
	return s
}

// daysSince is how many whole days have passed.
func daysSince(day, now time.Time) int { return int(now.Sub(day).Hours() / 24) }

// CheckPrices reads price files as a gateway with that configuration would. The error is
// pricing.Problems where they have mistakes, or name what the data does not know.
func CheckPrices(ctx context.Context, cfg config.Config, getenv func(string) string, log *slog.Logger,
	paths []string,
) error {
	book, err := priceBook(ctx, cfg, getenv, log, paths)
	if err == nil && len(book.Warnings()) > 0 {
		err = book.Warnings()
	}
	return err
}

// DiffPrices is what costs otherwise, now, where a price file is added to those of the
// configuration; of one that it names already, what costs otherwise without it.
func DiffPrices(ctx context.Context, cfg config.Config, getenv func(string) string, log *slog.Logger, path string) (
	[]pricing.Change, error,
) {
	all := []string(cfg.PricesFile)
	others := slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return filepath.Clean(p) == filepath.Clean(path)
	})
	if len(others) == len(all) {
		all = append(slices.Clone(all), path)
	}
	before, err := priceBook(ctx, cfg, getenv, log, others)
	if err != nil {
		return nil, err
	}
	after, err := priceBook(ctx, cfg, getenv, log, all)
	if err != nil {
		return nil, err
	}
	return pricing.Diff(before, after, time.Now()), nil
}

// ImportPrices makes a price file of a list of others. Day is that of the list,
// YYYY-MM-DD; empty for the day on which the file was last changed.
func ImportPrices(path, day string) (*pricing.Converted, error) {
	f, err := readPriceFile(path)
	if err != nil {
		return nil, err
	}
	if day == "" {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		day = info.ModTime().UTC().Format(time.DateOnly)
	} else if _, err := time.Parse(time.DateOnly, day); err != nil {
		return nil, llm.Invalidf("seen", "%q is not a date such as 2026-12-31", day)
	}
	c, err := pricing.Convert(f.Text, day)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// priceBook is the book of that configuration with these price files in place of its own.
func priceBook(ctx context.Context, cfg config.Config, getenv func(string) string, log *slog.Logger, paths []string) (
	*pricing.Book, error,
) {
	cfg.PricesFile = nil
	f := newFleet(&Options{Config: cfg, Getenv: getenv, Log: log}, nil)
	defer f.close()
	table, err := f.table(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	o := f.prices.now().overrides
	if o.Files, err = readPriceFiles(paths); err != nil {
		return nil, err
	}
	return pricing.NewBook(o)
}
