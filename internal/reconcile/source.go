package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/llm"
)

const (
	maxPage  = 8 << 20 // bytes of an answer
	maxPages = 1000    // of one report
	perPage  = 31      // days, the most that both vendors give of days
)

// Source is where a provider reports usage and costs.
type Source struct {
	Client   *http.Client
	BaseURL  string // of its API, as the gateway has it
	AdminKey llm.Secret
}

// Read is what a vendor reports for days, both inclusive.
type Read func(ctx context.Context, s *Source, from, to time.Time) (Theirs, error)

// Reader is how a vendor reports, by its name in the price data and the name of its dialect; nil where it does not.
func Reader(vendor, dialect string) Read {
	switch {
	case vendor == "openrouter":
		return readOpenRouter
	case dialect == "openai" || dialect == "responses":
		return readOpenAI
	case dialect == "anthropic":
		return readAnthropic
	}
	return nil
}

// page is what all reports have in common.
type page[T any] struct {
	Data []struct {
		StartTime  int64  `json:"start_time"`  // Unix seconds, of OpenAI
		StartingAt string `json:"starting_at"` // RFC 3339, of Anthropic
		Results    []T    `json:"results"`
	} `json:"data"`
	HasMore  bool   `json:"has_more"`
	NextPage string `json:"next_page"`
}

// each calls fn with every result of a report, and its day.
func each[T any](ctx context.Context, s *Source, path string, q url.Values, header http.Header,
	fn func(day string, r *T) error,
) error {
	for range maxPages {
		var p page[T]
		if err := s.get(ctx, path+"?"+q.Encode(), header, &p); err != nil {
			return err
		}
		for i := range p.Data {
			day, _, _ := strings.Cut(p.Data[i].StartingAt, "T")
			if day == "" {
				day = time.Unix(p.Data[i].StartTime, 0).UTC().Format(time.DateOnly)
			}
			for k := range p.Data[i].Results {
				if err := fn(day, &p.Data[i].Results[k]); err != nil {
					return err
				}
			}
		}
		if !p.HasMore || p.NextPage == "" {
			return nil
		}
		q.Set("page", p.NextPage)
	}
	return fmt.Errorf("%s has more than %d pages", path, maxPages)
}

// get reads an answer in JSON. Its errors have nothing of the key.
func (s *Source) get(ctx context.Context, path string, header http.Header, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.BaseURL, "/")+path, nil)
	if err != nil {
		return err
	}
	r.Header = header
	answer, err := s.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	at := r.URL.Path
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s answered %d: it needs an admin key of the organization, which is another one than "+
			"those for requests", at, answer.StatusCode)
	default:
		return fmt.Errorf("%s answered %d", at, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	if len(text) > maxPage {
		return fmt.Errorf("%s has more than %d bytes on a page", at, maxPage)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s answered what is no such report", at)
	}
	return nil
}
