package config

import (
	"strconv"
	"time"

	"weir/internal/llm"
)

// Retention configures how long data is stored.
type Retention struct {
	// Requests is the retention of request rows, at least one day; unresolved rows are stored for twice that time.
	Requests time.Duration `yaml:"requests"`
	// Responses is the retention of responses of the Responses API; 0 stores none.
	Responses time.Duration `yaml:"responses"`
	// Explanations is the retention of the sums of deleted request rows by price version, at least one day.
	Explanations time.Duration `yaml:"explanations"`
	// Attribution is the retention of sums by end user and tag, at least one day.
	Attribution time.Duration `yaml:"attribution"`
	// Content is the retention of logged content, at least one minute.
	Content time.Duration `yaml:"content"`
	// Tags are the names of tags with separate sums, at most MaxTagNames; empty for the most frequent names.
	Tags []string `yaml:"tags"`
}

// MaxTagNames is the maximum number of tag names with separate sums.
const MaxTagNames = 20

// maxContent bounds the stored bytes of a request, and of an answer.
const maxContent = 1 << 20

func (ch *checker) checkContent(c *Content) {
	if c.MaxBytes < minBody || c.MaxBytes > maxContent {
		ch.report("content.max_bytes", "`content.max_bytes` must be 1KiB to 1MiB, not %s", c.MaxBytes)
	}
	ch.checkRange("content.bytes_per_account", int64(c.BytesPerAccount), 0)
	ch.checkRange("content.total_bytes", int64(c.TotalBytes), 0)
}

func (ch *checker) checkRetention(r *Retention) {
	if r.Requests < day {
		ch.report("retention.requests", "`retention.requests` must be at least 1d")
	}
	if r.Attribution < day {
		ch.report("retention.attribution", "`retention.attribution` must be at least 1d")
	}
	if r.Explanations < day {
		ch.report("retention.explanations", "`retention.explanations` must be at least 1d")
	}
	if r.Content < time.Minute {
		ch.report("retention.content", "`retention.content` must be at least 1m")
	}
	if r.Responses < 0 {
		ch.report("retention.responses", "`retention.responses` must not be negative; 0s stores none")
	}
	if len(r.Tags) > MaxTagNames {
		ch.report("retention.tags", "`retention.tags` has %d names; the maximum is %d", len(r.Tags), MaxTagNames)
	}
	var tags []llm.Tag
	for i, name := range r.Tags {
		t := llm.Tag{Name: name, Value: "any"}
		tags = append(tags, t)
		if err := llm.CheckTags(tags); err != nil {
			ch.report("retention.tags["+strconv.Itoa(i)+"]", "`retention.tags`: %s", err)
			return
		}
	}
}
