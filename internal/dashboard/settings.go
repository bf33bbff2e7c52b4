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
	Ident, Name string
	Values      []Setting
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
			p.Groups[0].Values = append(p.Groups[0].Values, value)
			continue
		}
		if _, ok := at[name]; !ok {
			at[name] = len(p.Groups)
			p.Groups = append(p.Groups, settingGroup{Ident: "s-" + name, Name: name})
		}
		g := &p.Groups[at[name]]
		g.Values = append(g.Values, value)
	}
	return p
}
