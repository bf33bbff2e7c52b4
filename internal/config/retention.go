package config

import (
	"strconv"
	"time"

	"weir/internal/llm"
)

// Retention is how long data lives.
type Retention struct {
	// Requests is the life of request rows, at least one day; of those that are not
	// resolved, twice as long.
	Requests time.Duration `yaml:"requests"`
	// Responses is the life of what the Responses API keeps; 0 keeps none.
	Responses time.Duration `yaml:"responses"`
	// Explanations is for how long it is kept by which prices the sums of deleted request
	// rows came about, at least one day.
	Explanations time.Duration `yaml:"explanations"`
	// Attribution is the life of sums by end user and tag, at least one day.
	Attribution time.Duration `yaml:"attribution"`
	// Tags are the names of tags that these sums tell apart, 20 at most; none for those that most attempts have.
	Tags []string `yaml:"tags"`
}

// MaxTagNames is how many names of tags sums tell apart.
const MaxTagNames = 20

func (l *loader) checkRetention(r *Retention) {
	if r.Requests < day {
		l.report("retention.requests", "`retention.requests` must be at least 1d")
	}
	if r.Attribution < day {
		l.report("retention.attribution", "`retention.attribution` must be at least 1d")
	}
	if r.Explanations < day {
		l.report("retention.explanations", "`retention.explanations` must be at least 1d")
	}
	if r.Responses < 0 {
		l.report("retention.responses", "`retention.responses` must not be negative; 0s keeps none")
	}
	if len(r.Tags) > MaxTagNames {
		l.report("retention.tags", "`retention.tags` has %d names, %d are possible", len(r.Tags), MaxTagNames)
	}
	var tags []llm.Tag
	for i, name := range r.Tags {
		t := llm.Tag{Name: name, Value: "any"}
		tags = append(tags, t)
		if err := llm.CheckTags(tags); err != nil {
			l.report("retention.tags["+strconv.Itoa(i)+"]", "`retention.tags`: %s", err)
			return
		}
	}
}
