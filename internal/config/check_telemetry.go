package config

import (
	"slices"
	"strings"
)

// TagLabel begins a value of Telemetry.Labels that names a tag.
const TagLabel = "tag:"

const maxTagLabels = 4

// checkLabels reports invalid labels of metrics.
func (ch *checker) checkLabels(all []string) {
	var tags []string
	for i, name := range all {
		place := index("telemetry.labels", i)
		tag, isTag := strings.CutPrefix(name, TagLabel)
		switch {
		case slices.Contains(all[:i], name):
			ch.report(place, "`telemetry.labels` has %s twice: remove one", ch.quote(place, name))
		case name == "account" || name == "key":
		case isTag && slices.Contains(tags, LabelOf(tag)):
			ch.report(place, "`telemetry.labels` has two tags with the label %s: remove one", LabelOf(tag))
		case isTag && tag != "":
			tags = append(tags, LabelOf(tag))
		default:
			ch.report(place, "`telemetry.labels[%d]` must be account, key, or %sNAME for a tag, not %s", i, TagLabel,
				ch.quote(place, name))
		}
	}
	if len(tags) > maxTagLabels {
		ch.report("telemetry.labels", "`telemetry.labels` has %d tags: choose at most %d", len(tags), maxTagLabels)
	}
}

// LabelOf returns the label of a tag: tag_ and its name, with underscores for characters that a label cannot have
// (https://prometheus.io/docs/concepts/data_model/, 2026-11-29).
func LabelOf(tag string) string {
	return "tag_" + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, tag)
}
