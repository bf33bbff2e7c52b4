package dashboard

import (
	"net/http"

	"weir/internal/admin"
	"weir/internal/connection"
	"weir/internal/llm"
	"weir/internal/people"
)

// connectionHandlers serves the page on which people connect to MCP servers.
type connectionHandlers struct {
	site        *site
	connections *admin.Connections
}

// connectionsPage shows the servers to which a person connects and, for operators, those of the installation.
type connectionsPage struct {
	Groups []connectionGroup
	Empty  Empty
}

// connectionGroup lists the connections of a person or of the installation.
type connectionGroup struct {
	Ident, Title, Text string
	Rows               []connectionRow
}

// connectionRow shows a server.
type connectionRow struct {
	admin.ConnectionView

	Badge  Badge
	Start  string // path that leads to the authorization server
	Remove Confirm
}

func (h *connectionHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if v.User() == nil {
		return llm.Errorf(llm.CodeForbidden, "Only people have connections.")
	}
	own, err := h.connections.List(r.Context(), v.Visitor, false)
	if err != nil {
		return err
	}
	var all []admin.ConnectionView
	if v.Operator() {
		if all, err = h.connections.List(r.Context(), v.Visitor, true); err != nil {
			return err
		}
	}
	return h.site.show(w, r, v, page{name: "connections", title: "Connections", data: connectionsPageOf(own, all)})
}

func connectionsPageOf(own, all []admin.ConnectionView) connectionsPage {
	p := connectionsPage{Empty: Empty{
		Icon: "members", Title: "No servers to connect to",
		Text: "An operator sets oauth in the entry of an MCP server.",
	}}
	if len(own) > 0 {
		p.Groups = append(p.Groups, connectionGroup{
			"own", "Your connections", "Your API keys call the tools of these servers with your access there.",
			connectionRows(own, "me"),
		})
	}
	if len(all) > 0 {
		p.Groups = append(p.Groups, connectionGroup{
			"installation", "Connections of the installation", "Lists of tools are read with these and, where " +
				"people do not connect themselves, all calls are sent with them.", connectionRows(all, "all"),
		})
	}
	return p
}

func connectionRows(list []admin.ConnectionView, of string) (rows []connectionRow) {
	for i := range list {
		path := connection.Path + "/" + list[i].Server
		row := connectionRow{
			ConnectionView: list[i], Badge: Badge{"off", "Not connected"}, Start: path + "/start?for=" + of,
		}
		if list[i].Connected != nil {
			row.Badge = Badge{"good", "Connected"}
			row.Remove = Confirm{
				Ident: "remove-" + of + "-" + list[i].Server, Button: "Disconnect", Object: list[i].Server,
				Title: "Disconnect from this server?",
				Text: "Calls of its tools will be refused within seconds. The tokens are " +
					"deleted here; the server may also let you revoke them there.",
				Action: path + "/remove?for=" + of, Verb: "Disconnect",
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// forAll reports whether a request is about the installation's connection.
func forAll(r *http.Request) bool { return r.URL.Query().Get("for") == "all" }

// start leads to the authorization server. It is a link, because browsers apply the policy for forms to redirects of a
// form. It changes only the browser's own cookie.
func (h *connectionHandlers) start(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	address, keep, err := h.connections.Begin(r.Context(), v.Visitor, r.PathValue("server"), forAll(r))
	if err != nil {
		return err
	}
	h.site.cookies.set(w, connectCookie, keep.Reveal(), connection.PendingFor)
	return goTo(w, r, address)
}

// finish takes the answer of the authorization server.
func (h *connectionHandlers) finish(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	kept := h.site.cookies.get(r, connectCookie)
	h.site.cookies.drop(w, connectCookie)
	_, err := h.connections.Finish(r.Context(), v.By, v.Visitor, &connection.Answer{
		Server: r.PathValue("server"), Values: r.URL.Query(), Kept: llm.NewSecret(kept),
	})
	return goAfter(w, r, connection.Path+"?done=connected", err)
}

func (h *connectionHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.connections.Remove(r.Context(), v.By, v.Visitor, r.PathValue("server"), forAll(r))
	return goAfter(w, r, connection.Path+"?done=disconnected", err)
}
