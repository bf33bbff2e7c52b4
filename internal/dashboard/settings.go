package dashboard

import (
	"strings"
)

// settingsPage shows the configuration in force.
type settingsPage struct {
	File     string
	Warnings []string
	Groups   []settingGroup
	Shown    string
}

// settingGroup holds the settings below one key.
type settingGroup struct {
	Ident, Name      string
	Values, Defaults []Setting // set somewhere, and not
}

// Many reports in words how many values are defaults.
func (g *settingGroup) Many() string { return many(int64(len(g.Defaults)), "value") + " by default" }

// add adds a value in plain text.
func (g *settingGroup) add(s Setting) {
	s.Value = plainJSON(s.Value)
	if s.From == "default" {
		g.Defaults = append(g.Defaults, s)
		return
	}
	g.Values = append(g.Values, s)
}

// mostSettings bounds the listed values, because models and prices may be many.
const mostSettings = 500

// settingsPageOf builds the page; values without a group come first.
func settingsPageOf(x Settings) settingsPage {
	p := settingsPage{File: x.File, Warnings: x.Warnings, Groups: []settingGroup{{Ident: "s-", Name: "General"}}}
	if n := len(x.Values); n > mostSettings {
		p.Shown = "The first " + number(mostSettings) + " of " + number(int64(n)) +
			" values are shown. To see all, run: weir config show"
		x.Values = x.Values[:mostSettings]
	}
	at := map[string]int{}
	for _, value := range x.Values {
		name, _, inner := strings.Cut(value.Path, ".")
		if !inner {
			p.Groups[0].add(value)
			continue
		}
		if _, ok := at[name]; !ok {
			at[name] = len(p.Groups)
			p.Groups = append(p.Groups, settingGroup{Ident: "s-" + name, Name: name})
		}
		p.Groups[at[name]].add(value)
	}
	return p
}
