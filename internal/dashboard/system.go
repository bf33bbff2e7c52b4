package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"weir/internal/budget"
	"weir/internal/people"
	"weir/internal/report"
)

// installationHandlers serves the pages of the installation and its configuration.
type installationHandlers struct {
	site         *site
	installation *Installation
}

func (h *installationHandlers) system(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	state, err := h.installation.System(r.Context())
	if err != nil {
		return err
	}
	return h.site.show(w, r, v, page{
		name: "system", title: "System", data: systemPageOf(&state, h.site.version, h.site.now()),
	})
}

func (h *installationHandlers) settings(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.site.show(w, r, v, page{
		name: "settings", title: "Settings", data: settingsPageOf(h.installation.Settings()),
	})
}

// systemPage shows the state of the installation.
type systemPage struct {
	Parts    []systemPart
	Nodes    []nodeRow
	Versions []Fact
	Export   []Field // fields of an export of the ledger
}

// systemPart shows a service that the gateway needs.
type systemPart struct {
	Name  string
	Badge Badge
	Facts []string
}

// nodeRow shows a node that shares the database.
type nodeRow struct {
	Node
	Badge Badge
}

func systemPageOf(x *System, version string, now time.Time) systemPage {
	p := systemPage{Parts: []systemPart{
		{
			"This node",
			Badge{"good", "Running"},
			[]string{"Since " + moment(x.Started) + ", " + between(now, x.Started)},
		},
		journalPart(&x.Journal), projectorPart(&x.Journal), databasePart(&x.Database, x.Journal.Database),
		valkeyPart(&x.Valkey),
	}}
	for _, n := range x.Nodes {
		p.Nodes = append(p.Nodes, nodeRow{n, nodeBadge(&n)})
	}
	p.Versions = append([]Fact{{"Weir", version}}, x.Versions...)
	p.Export = []Field{
		{Name: "format", Label: "Format", Choices: []Choice{
			{Value: "focus", Label: "FOCUS " + slices.Max(report.FOCUSVersions()) + ", a row for each class of usage"},
			{Value: "csv", Label: "CSV, a row for each attempt"},
		}},
		{
			Name: "start_date", Label: "From", Kind: "date", Optional: true,
			Value: monthOf(now, today(now).AddDate(0, 0, 1-today(now).Day())).first(),
		},
		{Name: "end_date", Label: "To", Kind: "date", Optional: true},
	}
	return p
}

func journalPart(j *JournalState) systemPart {
	p := systemPart{"Journal", Badge{"good", "Writable"}, []string{many(j.Open, "attempt") + " running"}}
	if j.Problem != "" {
		p.Badge = Badge{"bad", "Not writable"}
		p.Facts = append(p.Facts, j.Problem)
	}
	if j.Lost > 0 {
		p.Badge = cmp.Or(failing(p.Badge), Badge{"warn", "Damaged"})
		p.Facts = append(p.Facts, bytesText(j.Lost)+" could not be read back. See the log for the place")
	}
	if j.SetAside > 0 {
		p.Badge = cmp.Or(failing(p.Badge), Badge{"warn", "Incomplete"})
		p.Facts = append(p.Facts, many(j.SetAside, "record")+" could not be stored, and the sums lack them. "+
			"weir ledger verify lists them")
	}
	if j.Unknown > 0 {
		p.Facts = append(p.Facts, many(j.Unknown, "attempt")+" settled as unknown since the start")
	}
	return p
}

// failing returns the badge if it already reports a failure, else none.
func failing(b Badge) Badge {
	if b.Kind == "bad" {
		return b
	}
	return Badge{}
}

func databasePart(d *DatabaseState, away string) systemPart {
	p := systemPart{"Database", Badge{"good", "Available"}, []string{d.Engine, "Schema version " + number(d.Schema) +
		" of " + number(d.Current)}}
	if away != "" {
		p.Badge = Badge{"bad", "Unavailable"}
		p.Facts = append(p.Facts, away, "The journal stores usage until the database is back")
	}
	return p
}

// projectorPart shows how far the database is behind the journal.
func projectorPart(j *JournalState) systemPart {
	p := systemPart{"Projector", Badge{"good", "Up to date"}, []string{"The database has all records of the journal"}}
	if j.Behind > 0 {
		p.Badge, p.Facts[0] = Badge{"good", "Catching up"}, bytesText(j.Behind)+
			" of the journal are not in the database yet"
	}
	if j.Database != "" {
		p.Badge = Badge{"warn", "Waiting for the database"}
	}
	return p
}

func valkeyPart(x *ValkeyState) systemPart {
	switch {
	case !x.Used:
		return systemPart{"Valkey", Badge{"off", "Not used"}, []string{"Each node counts rate limits in its own " +
			"memory"}}
	case x.Problem != "":
		return systemPart{
			"Valkey",
			Badge{"warn", "Unavailable"},
			[]string{x.Problem, "This node enforces its share of the rate limits from memory"},
		}
	}
	return systemPart{"Valkey", Badge{"good", "Available"}, []string{"Rate limits are shared by all nodes"}}
}

func nodeBadge(n *Node) Badge {
	switch n.State() {
	case budget.NodeStopped:
		return Badge{"off", "Stopped"}
	case budget.NodeAlive:
		return Badge{"good", "Alive"}
	}
	return Badge{"warn", "Not responding"}
}

// bytesText formats a number of bytes in a suitable unit.
func bytesText(n int64) string {
	switch {
	case n < 10<<10:
		return many(n, "byte")
	case n < 10<<20:
		return number(n>>10) + " KiB"
	}
	return number(n>>20) + " MiB"
}
