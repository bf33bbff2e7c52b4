// Package dashboard is the pages of the gateway: for people who sign in, in
// their browser. They are made on the server, of html/template; all of them work
// without a script but what is said to need one.
//
// A page is one file of Go, with what answers and what it shows, and one template
// in pages/, which defines "main". The template's dot is a view: .Frame is what
// stands around the page, .Page the page's own. Routes.go has the table of all
// routes; a type named after its subject, such as keyHandlers, answers those of a
// page or of a few. What all of them share is a site, which they hold. The components
// that pages share are templates in parts/ and types in parts.go; the page /design
// shows them all.
package dashboard
