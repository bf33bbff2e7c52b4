package upstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// KnownProviders returns the names of providers that a price file may use, besides those of the data.
func KnownProviders(cfg *config.Config, catalogue provider.Catalogue) (names []string) {
	for i := range catalogue {
		names = append(names, catalogue[i].Name)
	}
	for i := range cfg.Providers {
		names = append(names, cfg.Providers[i].Name)
	}
	for name := range cfg.MCPServers {
		names = append(names, config.MCPPrefix+name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckPrices reads price files like a gateway with that configuration. It returns pricing.Problems for mistakes and
// for names that the data does not have.
func (o *Options) CheckPrices(ctx context.Context, paths []string) error {
	files, err := pricing.ReadFiles(paths)
	if err != nil {
		return err
	}
	book, err := o.priceBook(ctx, files)
	if err == nil && len(book.Warnings()) > 0 {
		err = book.Warnings()
	}
	return err
}

// DiffPrices returns the prices that change now if price files are added to those of the configuration. Files that it
// already names are compared with the prices without them. It converts lists that ImportPrices accepts, and also
// returns the models that such a list does not have.
func (o *Options) DiffPrices(ctx context.Context, paths []string) ([]pricing.Change, error) {
	files, lists, err := readDiffed(paths)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone([]string(o.Config.PricesFile)), func(p string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return filepath.Clean(p) == filepath.Clean(path) })
	})
	in, err := pricing.ReadFiles(others)
	if err != nil {
		return nil, err
	}
	before, err := o.priceBook(ctx, in)
	if err != nil {
		return nil, err
	}
	after, err := o.priceBook(ctx, append(in, files...))
	if err != nil {
		return nil, err
	}
	return pricing.Diff(before, after, time.Now(), lists...), nil
}

// readDiffed reads price files, and converts other lists to price files. It returns the paths of the converted lists.
func readDiffed(paths []string) (files []pricing.File, lists []string, err error) {
	for _, path := range paths {
		f, err := pricing.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		if !pricing.IsFile(f.Text) {
			c, err := pricing.Convert(f.Text, "", true) // with all data of the list
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			}
			f.Text, lists = c.File, append(lists, path)
		}
		files = append(files, f)
	}
	return files, lists, nil
}

// priceBook returns the price book of the configuration with these price files instead of its own.
func (o *Options) priceBook(ctx context.Context, files []pricing.File) (book *pricing.Book, err error) {
	without := *o
	without.Config.PricesFile = nil
	err = without.With(ctx, func(b *Builder, _ *route.Table) (err error) {
		overrides := b.prices.Now().Overrides
		overrides.Files = files
		book, err = pricing.NewBook(overrides)
		return err
	})
	return book, err
}

// ImportPrices converts a public price list to a price file. Day is the day of the list, YYYY-MM-DD; empty for the
// day of the file's last change. Own means that the list is the operator's own, so its prices are exact.
func ImportPrices(path, day string, own bool) (*pricing.Converted, error) {
	f, err := pricing.ReadFile(path)
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
		return nil, llm.Invalidf("seen", "%q is not a date: write one such as 2026-12-31", day)
	}
	c, err := pricing.Convert(f.Text, day, own)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
