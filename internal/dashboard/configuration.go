package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
)

// configurationPath is the path of the pages of the managed configuration.
const configurationPath = "/operator/configuration"

// configurationHandlers serves the pages of the managed configuration.
type configurationHandlers struct {
	site         *site
	admin        *admin.Admin
	installation *Installation
}

// configurationPage shows the configuration that can be changed while the gateway runs, except providers.
type configurationPage struct {
	Problem  string
	Behind   bool // this node does not use the newest version yet
	Version  int64
	Groups   []objectGroup
	Versions []versionRow
	Older    string
}

// objectGroup holds the objects of a section.
type objectGroup struct {
	Ident, Title, About string
	Add                 Link // Href is empty if nothing can be added
	Objects             []objectRow
}

// objectRow shows an object and its source.
type objectRow struct {
	Name, From string
	Lines      []string // the value
	Change     string   // path of its form; empty if it cannot be changed here
	Remove     *Confirm // nil if it cannot be removed here
}

// versionRow shows a version and its changes.
type versionRow struct {
	Seq     int64
	At      time.Time
	By      string
	Changes []Change
	Kept    bool // whether its changes are still stored
	Undo    Confirm
}

const versionsShown = 20

func (h *configurationHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	s, err := h.admin.Configuration.State(r.Context())
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // anything else means the newest
	versions, err := h.admin.Configuration.Versions(r.Context(), max(before, 0), versionsShown+1)
	if err != nil {
		return err
	}
	p := configurationPageOf(&s, versions)
	if len(f.general) > 0 {
		p.Problem = strings.Join(f.general, " ")
	}
	return h.site.show(w, r, v, page{name: "configuration", title: "Configuration", status: f.status(), data: p})
}

func configurationPageOf(s *managed.State, versions []managed.Version) configurationPage {
	p := configurationPage{Problem: s.Problem, Behind: s.Problem == "" && s.Version != s.InForce, Version: s.Version}
	for i := range configSections {
		p.Groups = append(p.Groups, objectGroupOf(&configSections[i], s.Objects))
	}
	if len(versions) > versionsShown {
		p.Older = configurationPath + "?before=" + strconv.FormatInt(versions[versionsShown-1].Seq, 10)
		versions = versions[:versionsShown]
	}
	for i := range versions {
		p.Versions = append(p.Versions, versionRowOf(&versions[i], versions[i].Seq == s.Version))
	}
	return p
}

func objectGroupOf(c *configSection, objects []managed.Object) objectGroup {
	g := objectGroup{Ident: "h-" + c.section, Title: c.title, About: c.about}
	if !c.one {
		g.Add = Link{Label: "Add " + c.noun, Href: editPath(c.section, "")}
	}
	for i := range objects {
		o := &objects[i]
		if o.Section != c.section {
			continue
		}
		row := objectRow{Name: o.Name, Lines: valueLines(c.section, o.Value), From: fromOf(o)}
		if o.Source == managed.FromManaged {
			row.Remove = &Confirm{
				Ident: "remove-" + c.section + "-" + strconv.Itoa(i), Button: "Remove", Object: o.Path,
				Title:  "Remove " + o.Path + "?",
				Text:   "It is removed on every node within a second. You can undo this below.",
				Action: configurationPath + "/remove?" + objectQuery(c.section, o.Name), Verb: "Remove it",
			}
		}
		if o.Source == managed.FromManaged || c.one && o.Source == managed.FromDefault {
			row.Change = editPath(c.section, o.Name)
		}
		g.Objects = append(g.Objects, row)
	}
	return g
}

func objectQuery(section, name string) string {
	return url.Values{"section": {section}, "name": {name}}.Encode()
}

func editPath(section, name string) string {
	return configurationPath + "/edit?" + objectQuery(section, name)
}

func versionRowOf(v *managed.Version, newest bool) versionRow {
	row := versionRow{Seq: v.Seq, At: v.At, By: v.By, Kept: v.Changes != nil}
	for _, c := range v.Changes {
		row.Changes = append(row.Changes, Change{
			Name: c.Path, Was: objectText(c.Path, c.Before), Is: objectText(c.Path, c.After),
		})
	}
	seq := strconv.FormatInt(v.Seq, 10)
	row.Undo = Confirm{
		Ident: "restore-" + seq, Button: "Restore", Object: "version " + seq, Title: "Restore version " + seq + "?",
		Text:   "The managed configuration becomes what it was in version " + seq + ", as a new version.",
		Action: configurationPath + "/versions/" + seq + "/restore", Verb: "Restore version " + seq, Keep: "Leave it",
	}
	if newest {
		before := strconv.FormatInt(v.Seq-1, 10)
		row.Undo = Confirm{
			Ident: "undo", Button: "Undo", Object: "version " + seq, Title: "Undo the last change?",
			Text:   "The managed configuration becomes what it was before version " + seq + ", as a new version.",
			Action: configurationPath + "/versions/" + before + "/restore", Verb: "Undo the change", Keep: "Leave it",
		}
	}
	return row
}

// restore restores a version; version 0 is an empty configuration.
func (h *configurationHandlers) restore(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 0 {
		return llm.Errorf(llm.CodeNotFound, "There is no such version.")
	}
	if seq == 0 {
		_, err = h.admin.Configuration.Edit(r.Context(), v.By, managed.Edit{Prune: true})
	} else {
		_, err = h.admin.Configuration.Restore(r.Context(), v.By, seq, nil)
	}
	return h.followed(w, r, v, err)
}

func (h *configurationHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	q := r.URL.Query()
	gone := []managed.Ref{{Section: q.Get("section"), Name: q.Get("name")}}
	_, err := h.admin.Configuration.Edit(r.Context(), v.By, managed.Edit{Remove: gone})
	return h.followed(w, r, v, err)
}

// followed redirects after a change, or shows the page with the reason why the change failed.
func (h *configurationHandlers) followed(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) error {
	f := sent(r)
	if err == nil {
		return goTo(w, r, configurationPath+"?done=config-saved")
	}
	if !f.refuseObject(err) {
		return err
	}
	return h.show(w, r, v, f)
}
