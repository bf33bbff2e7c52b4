package llm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a request's tags, as of OpenAI's metadata:
// https://platform.openai.com/docs/api-reference/chat/create#chat-create-metadata (undated copy).
const (
	MaxTags     = 16
	maxTagName  = 64  // characters
	maxTagValue = 512 // characters, also of an end user
	usualTags   = 4
)

// Tag is a label that a client gives its request, for reports.
type Tag struct{ Name, Value string }

// Attribution names the end user and the tags of a request, as given by its client.
type Attribution struct {
	User string // the end user; empty for none
	Tags []Tag  // of different names, at most MaxTags
}

// Tag returns the value of a tag and reports whether there is one.
func (a *Attribution) Tag(name string) (string, bool) {
	for i := range a.Tags {
		if a.Tags[i].Name == name {
			return a.Tags[i].Value, true
		}
	}
	return "", false
}

// Put adds a tag from a vendor's field of the body. It reports false if the tag is not within the bounds. An existing
// tag of that name keeps its value.
func (a *Attribution) Put(t Tag) bool {
	if !IsTagName(t.Name) || !IsTagValue(t.Value) {
		return false
	}
	if _, there := a.Tag(t.Name); there {
		return true
	}
	if len(a.Tags) == MaxTags {
		return false
	}
	if a.Tags == nil {
		a.Tags = make([]Tag, 0, usualTags)
	}
	a.Tags = append(a.Tags, t)
	return true
}

// IsTagName reports whether a tag may have that name.
func IsTagName(name string) bool { return name != "" && isWithin(name, maxTagName) }

// IsTagValue reports whether a tag may have that value.
func IsTagValue(value string) bool { return isWithin(value, maxTagValue) }

// SetUser sets the end user. It reports false if the value is not within the bounds.
func (a *Attribution) SetUser(user string) bool {
	if !isWithin(user, maxTagValue) {
		return false
	}
	a.User = user
	return true
}

// isWithin reports whether every database can store the text and whether it has at most that many characters.
func isWithin(text string, most int) bool {
	return len(text) <= most*utf8.UTFMax && IsText(text) && (len(text) <= most || utf8.RuneCountInString(text) <= most)
}

// TagsHeader is the request header with the request's tags: name=value, separated by commas.
const TagsHeader = "X-Weir-Tags"

// ParseTags parses the lines of a TagsHeader. The error is a *Error.
func ParseTags(lines []string) ([]Tag, error) {
	list := make([]Tag, 0, usualTags)
	for _, line := range lines {
		for pair := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(pair, "=")
			t := Tag{strings.TrimSpace(name), strings.TrimSpace(value)}
			if err := t.check(list); err != nil {
				return nil, Invalidf(TagsHeader, "The header %s is invalid: %s. "+
					"Write it as project=alpha, team=search.", TagsHeader, err)
			}
			list = append(list, t)
		}
	}
	return list, nil
}

// CheckTags returns an error for the first tag that a TagsHeader cannot contain.
func CheckTags(tags []Tag) error {
	for i := range tags {
		if err := tags[i].check(tags[:i]); err != nil {
			return err
		}
	}
	return nil
}

// check validates a tag of the header, which follows others.
func (t *Tag) check(others []Tag) error {
	switch {
	case t.isPlain():
	case t.Name == "" || t.Value == "":
		return fmt.Errorf("tag %d has no name or no value", len(others)+1)
	case strings.ContainsAny(t.Name, ",=") || strings.Contains(t.Value, ","):
		return fmt.Errorf("tag %d has a comma, or an equals sign in its name", len(others)+1)
	case strings.ContainsFunc(t.Name+t.Value, isUnprintable) || !utf8.ValidString(t.Name+t.Value):
		return fmt.Errorf("tag %d has a character that is not printable UTF-8", len(others)+1)
	case !IsTagName(t.Name) || !IsTagValue(t.Value):
		return fmt.Errorf("tag %d has a name above %d characters or a value above %d", len(others)+1, maxTagName,
			maxTagValue)
	}
	if len(others) == MaxTags {
		return fmt.Errorf("there are more than %d tags", MaxTags)
	}
	for i := range others {
		if others[i].Name == t.Name {
			return fmt.Errorf("the tag %q appears twice", t.Name)
		}
	}
	return nil
}

// isPlain reports whether a tag is printable ASCII within the bounds, as most tags are. It is the fast path of check.
func (t *Tag) isPlain() bool {
	if t.Name == "" || t.Value == "" || len(t.Name) > maxTagName || len(t.Value) > maxTagValue {
		return false
	}
	for i := range len(t.Name) {
		if c := t.Name[i]; c < ' ' || c > '~' || c == ',' || c == '=' {
			return false
		}
	}
	for i := range len(t.Value) {
		if c := t.Value[i]; c < ' ' || c > '~' || c == ',' {
			return false
		}
	}
	return true
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// FormatTags formats tags as name=value, separated by commas. It escapes a comma in a name or a value as %2C, a
// percent sign as %25, an equals sign in a name as %3D.
func FormatTags(tags []Tag) string {
	names := strings.NewReplacer(",", "%2C", "%", "%25", "=", "%3D")
	values := strings.NewReplacer(",", "%2C", "%", "%25")
	list := make([]string, len(tags))
	for i, t := range tags {
		list[i] = names.Replace(t.Name) + "=" + values.Replace(t.Value)
	}
	return strings.Join(list, ",")
}
