package refusal

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"weir/internal/llm"
)

const (
	// lineEvery is the time between two log lines about refusals of a key for the same reason.
	lineEvery = time.Minute
	// mostLines bounds the keys and reasons with lines of their own. The others share a line by reason.
	mostLines = 200
)

// who identifies the lines about refusals of a key for a reason.
type who struct {
	account, key string
	reason       llm.Code
}

// line holds the refusals since the last line.
type line struct {
	count int64
	last  Refusal // the latest one; zero if it is not known
	next  time.Time
}

// lines writes a line for each key and reason a minute.
type lines struct {
	to  *slog.Logger
	all map[who]*line
}

// add adds the refusals of a batch.
func (l *lines) add(b *Batch) {
	for i := range b.Counts {
		c := &b.Counts[i]
		l.of(c.Account, c.Key, c.Reason).count += c.N
	}
	for i := range b.Latest {
		x := &b.Latest[i]
		if of := l.of(x.Account, x.Key, x.Reason); !x.At.Before(of.last.At) {
			of.last = *x
		}
	}
}

func (l *lines) of(account, key string, reason llm.Code) *line {
	w := who{account, key, reason}
	if l.all[w] == nil && len(l.all) >= mostLines {
		w = who{reason: reason}
	}
	if l.all[w] == nil {
		l.all[w] = &line{}
	}
	return l.all[w]
}

// write writes the lines that are due.
func (l *lines) write(ctx context.Context, now time.Time) {
	for w, of := range l.all {
		switch {
		case now.Before(of.next):
		case of.count == 0:
			delete(l.all, w)
		default:
			about := []any{"reason", string(w.reason), "count", of.count}
			if w.account != "" {
				about = append(about, "account", w.account, "key", w.key)
			}
			if x := &of.last; !x.At.IsZero() {
				about = append(about, "request", x.Request.String(), "model", x.Model, "message", x.Text())
			}
			l.to.InfoContext(ctx, "requests refused", about...)
			*of = line{next: now.Add(lineEvery)}
		}
	}
}

// Compare orders buckets.
func (b *Bucket) Compare(o *Bucket) int {
	return cmp.Or(cmp.Compare(b.Account, o.Account), cmp.Compare(b.Minute, o.Minute), cmp.Compare(b.Key, o.Key),
		cmp.Compare(b.Reason, o.Reason), cmp.Compare(b.Model, o.Model))
}
