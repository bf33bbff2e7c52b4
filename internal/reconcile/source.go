package reconcile

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	maxPage  = 8 << 20 // bytes of a response
	maxLevel = 20      // nesting levels in it
	maxPages = 1000    // per report
	perPage  = 31      // days, the maximum of both vendors
	// maxReports bounds the total bytes of all responses of a comparison, maxPlaces the number of stored models on
	// days, maxModel the length of a model's name in bytes, and maxTokens the tokens of one result.
	maxReports = 128 << 20
	maxPlaces  = 100_000
	maxModel   = 256
	maxTokens  = 1_000_000_000_000
)

// Source is a provider's reporting API.
type Source struct {
	Client   *http.Client
	BaseURL  string // of its API, as configured
	AdminKey llm.Secret

	read int64 // bytes of responses so far
}

// Read returns a vendor's report of days, both inclusive.
type Read func(ctx context.Context, s *Source, from, to time.Time) (Theirs, error)

// Reader returns the reader of a vendor's reports, by its name in the price data and the name of its dialect; nil if
// there is none.
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

// each calls fn with every result of a report and its day.
func each[T any](ctx context.Context, s *Source, path string, q url.Values, header http.Header,
	fn func(day string, r *T) error,
) error {
	for range maxPages {
		p, err := s.get(ctx, path+"?"+q.Encode(), header)
		if err != nil {
			return err
		}
		for _, bucket := range rawjson.Elements(rawjson.Get(p, "data")) {
			day := dayOf(bucket)
			for _, result := range rawjson.Elements(rawjson.Get(bucket, "results")) {
				if err := decoded(path, day, result, fn); err != nil {
					return err
				}
			}
		}
		next := rawjson.Text(rawjson.Get(p, "next_page"))
		if more, _ := rawjson.AsBool(rawjson.Get(p, "has_more")); !more || next == "" {
			return nil
		}
		q.Set("page", next)
	}
	return fmt.Errorf("%s has more than %d pages", path, maxPages)
}

// dayOf returns the day of results, from Anthropic's starting_at, in RFC 3339, or OpenAI's start_time, in Unix seconds.
func dayOf(bucket []byte) string {
	if at, ok := rawjson.AsInt(rawjson.Get(bucket, "start_time")); ok {
		return time.Unix(at, 0).UTC().Format(time.DateOnly)
	}
	day, _, _ := strings.Cut(rawjson.Text(rawjson.Get(bucket, "starting_at")), "T")
	return day
}

// decoded calls fn with a result. Results are decoded one by one, because an empty one takes far more memory than its
// text.
func decoded[T any](path, day string, result []byte, fn func(day string, r *T) error) error {
	var r T
	if err := json.Unmarshal(result, &r); err != nil {
		return noReport(path)
	}
	return fn(day, &r)
}

func noReport(path string) error {
	return fmt.Errorf("the answer of %s is not a usage or cost report", path)
}

// get fetches a JSON response. Its errors contain neither the key nor the response, which may repeat the key.
func (s *Source) get(ctx context.Context, path string, header http.Header) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.BaseURL, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header = header
	answer, err := s.Client.Do(r)
	if err != nil {
		return nil, unanswered(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	at := r.URL.Path
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%s answered %d: it needs an admin key of the organization, not a key "+
			"for requests", at, answer.StatusCode)
	default:
		return nil, fmt.Errorf("%s answered %d", at, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	if len(text) > maxPage {
		return nil, fmt.Errorf("a page of %s has more than %d bytes", at, maxPage)
	}
	if s.read += int64(len(text)); s.read > maxReports {
		return nil, fmt.Errorf("the reports have more than %d bytes in total: ask for fewer days", maxReports)
	}
	if rawjson.Validate(text, maxLevel) != nil || rawjson.KindOf(rawjson.Get(text, "data")) != rawjson.Array {
		return nil, noReport(at)
	}
	return text, nil
}

// unanswered returns the reason why there is no response, without any part of one.
func unanswered(err error) error {
	if whole, ok := errors.AsType[*url.Error](err); ok {
		err = whole.Err // without the address, which contains the provider's next_page
	}
	_, isNet := errors.AsType[*net.OpError](err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	if isNet || isTLS || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return errors.New("the provider could not be reached, or its answer is not HTTP: check base_url and the proxy")
}

// use adds a model's usage on a day, if the day was requested.
func (t *Theirs) use(day, model string, u Usage) error {
	at, err := placeOf(day, model)
	if err != nil || !t.asked(day) {
		return err
	}
	for _, n := range []int64{u.Input, u.Cached, u.Output} {
		if n < 0 || n > maxTokens {
			return fmt.Errorf("a number of tokens is negative or above %d", int64(maxTokens))
		}
	}
	all := t.Usage[at]
	all.add(u)
	t.Usage[at] = all
	return tooMany(len(t.Usage))
}

// asked reports whether a day was requested.
func (t *Theirs) asked(day string) bool { return t.first <= day && day <= t.last }

// book adds a cost, if its day was requested.
func (t *Theirs) book(day, model string, named bool, usd llm.Money) error {
	at, err := placeOf(day, model)
	if err != nil || !t.asked(day) {
		return err
	}
	if !named {
		t.Other, err = added(t.Other, usd)
		return err
	}
	if t.Costs[at], err = added(t.Costs[at], usd); err != nil {
		return err
	}
	return tooMany(len(t.Costs))
}

func tooMany(places int) error {
	if places > maxPlaces {
		return fmt.Errorf("the report has more than %d pairs of model and day", maxPlaces)
	}
	return nil
}

// placeOf checks and returns a provider's place.
func placeOf(day, model string) (Place, error) {
	if at, err := time.Parse(time.DateOnly, day); err != nil || at.Format(time.DateOnly) != day {
		return Place{}, errors.New("a result has no valid day")
	}
	if len(model) > maxModel {
		return Place{}, fmt.Errorf("the name of a model is longer than %d bytes", maxModel)
	}
	if strings.ContainsFunc(model, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Place{}, errors.New("the name of a model has unprintable characters")
	}
	return Place{day, model}, nil
}
