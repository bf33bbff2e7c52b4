package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// valueLines returns the members of an object of the configuration as lines for people, such as "Strategy: fallback: in
// this order".
func valueLines(section string, value any) []string {
	is, ok := value.(map[string]any)
	if !ok {
		return linesOf(plainValue(value))
	}
	var all []string
	shown := map[string]bool{}
	i := slices.IndexFunc(configSections, func(c configSection) bool { return c.section == section })
	if section == "aliases" {
		all, shown["targets"], shown["weights"] = targetLines(is), true, true
	}
	if i >= 0 {
		for _, m := range configSections[i].members {
			if is[m.key] != nil && !shown[m.key] {
				shown[m.key] = true
				all = append(all, m.field.Label+": "+boundText(section, m.words(is[m.key])))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if !shown[key] {
			name := strings.ReplaceAll(key, "_", " ")
			text := boundText(section, plainValue(is[key]))
			if key == "accounts" && text == "none" { // servers of tools, and bundles of them
				text = "all"
			}
			all = append(all, strings.ToUpper(name[:1])+name[1:]+": "+text)
		}
	}
	return all
}

// boundText returns a value in words if it is empty, or a limit of 0.
func boundText(section, text string) string {
	switch {
	case text == "":
		return "none"
	case section == "limits" && (text == "0" || text == "concurrency 0, rpm 0, tpm 0"):
		return "no limit"
	}
	return text
}

// objectText returns an object of the configuration in one line, by its path.
func objectText(path string, value any) string {
	section, _, _ := strings.Cut(path, ".")
	return strings.Join(valueLines(section, value), "; ")
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// words returns a member's value: of a choice its label.
func (m *configMember) words(value any) string {
	for _, c := range m.field.Choices {
		if c.Value == value {
			return c.Label
		}
	}
	return plainValue(value)
}

// targetLines returns a line for each target of an alias, with its share of the weights.
func targetLines(is map[string]any) (all []string) {
	targets, _ := is["targets"].([]any)
	weights, _ := is["weights"].([]any)
	total := 0.0
	for _, w := range weights {
		total += weightOf(w)
	}
	for i, target := range targets {
		line := fmt.Sprint(target)
		switch {
		case i < len(weights) && weightOf(weights[i]) == 0:
			line += ", only if the others fail"
		case i < len(weights):
			line += fmt.Sprintf(", weight %s (%.0f %%)", plainValue(weights[i]), 100*weightOf(weights[i])/total)
		case i > 0 && is["strategy"] != "latency" && is["strategy"] != "weighted":
			line = "then " + line
		}
		all = append(all, line)
	}
	return all
}

// weightOf returns a weight, which JSON and YAML decode to different types.
func weightOf(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	}
	return 0
}

// plainValue returns a value without the marks of JSON: "rpm 600, tpm 9000".
func plainValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case map[string]any:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, strings.TrimSpace(strings.ReplaceAll(key, "_", " ")+" "+nested(v[key])))
		}
		return strings.Join(all, ", ")
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, nested(item))
		}
		return strings.Join(all, ", ")
	}
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// plainJSON is plainValue for a text in JSON; another text is unchanged.
func plainJSON(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return plainValue(value)
}

// nested returns a value within another one, in parentheses if it has several parts.
func nested(v any) string {
	text := plainValue(v)
	if strings.Contains(text, ", ") {
		return "(" + text + ")"
	}
	return text
}

// spareTargets is the number of empty rows for targets in a form, and mostRows the largest number of rows.
const (
	spareTargets = 3
	mostRows     = 100
)

// aliasRow is a row of the form of an alias.
type aliasRow struct {
	N              int // from 1
	Target, Weight string
}

// aliasRows returns the rows of an alias's targets: as sent, or else as they are.
func aliasRows(is map[string]any, f *form) (rows []aliasRow) {
	texts := func(key string) (all []string) {
		if f.values != nil {
			return f.values[key]
		}
		list, _ := is[key].([]any)
		for _, v := range list {
			all = append(all, fmt.Sprint(v))
		}
		return all
	}
	targets, weights := texts("targets"), texts("weights")
	for i := range min(len(targets)+spareTargets, mostRows) {
		row := aliasRow{N: i + 1}
		if i < len(targets) {
			row.Target = targets[i]
		}
		if i < len(weights) {
			row.Weight = weights[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// mostSuggested bounds the names that a form suggests.
const mostSuggested = 1000

// suggestedModels returns names for targets.
func suggestedModels(h *Installation) (names []string) {
	if h.Models == nil {
		return nil
	}
	for _, m := range h.Models() {
		if m.Provider != "" && len(names) < mostSuggested {
			names = append(names, m.Name)
		}
	}
	return names
}
