package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// Health answers the health checks.
type Health struct {
	ledger *ledger.Ledger
	limits *ratelimit.Limiter
	router *route.Router
	prices func() (day time.Time, problem string) // nil if prices are not reported
	// shortage returns why the database gives this node no connection, or "".
	shortage func() string
	// managed returns the problem of the managed configuration, or "".
	managed func() string
	now     func() time.Time
}

// Live answers GET /livez: the process runs. It checks nothing else, so that an outage of the database does not
// restart a gateway that works.
func (h *Health) Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "ok\n")
	})
}

// Ready answers GET /readyz: the gateway can accept and meter requests. With ?verbose it lists the checks.
func (h *Health) Ready(draining func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		checks := h.checks(draining())
		status, text := http.StatusOK, "ok\n"
		var all strings.Builder
		for _, c := range checks {
			mark := "+"
			if c.problem != "" {
				mark = "-"
				if !c.tolerable {
					status, text = http.StatusServiceUnavailable, "not ready\n"
				}
			}
			fmt.Fprintf(&all, "[%s] %s %s\n", mark, c.name, c.problem)
		}
		if r.URL.Query().Has("verbose") {
			text = all.String() + text
		}
		plain(w, status, text)
	})
}

// check is one condition of readiness. Its problem contains nothing confidential.
type check struct {
	name      string
	problem   string
	tolerable bool // requests are still accepted
}

func (h *Health) checks(draining bool) []check {
	checks := []check{{name: "running"}, {name: "journal"}, {name: "database", tolerable: true}}
	if draining {
		checks[0].problem = "stopping"
	}
	if err := h.ledger.Problem(); err != nil {
		checks[1].problem = "cannot be written"
	}
	if h.ledger.Lost() > 0 {
		checks[1].problem, checks[1].tolerable = "some records could not be read back; see the log", true
	}
	if h.ledger.SetAside() > 0 {
		checks[1].problem, checks[1].tolerable = "some records are set aside; see weir ledger verify", true
	}
	if _, err := h.ledger.Lag(); err != nil {
		checks[2].problem = "unavailable; the journal stores the usage"
	}
	if problem := h.shortage(); problem != "" {
		checks = append(checks, check{name: "database connections", problem: problem, tolerable: true})
	}
	if h.limits.Shared() {
		c := check{name: "valkey", tolerable: true}
		if h.limits.Degraded() != nil {
			c.problem = "unavailable; this node enforces its share of the rate limits from memory"
		}
		checks = append(checks, c)
	}
	if h.prices != nil {
		day, problem := h.prices()
		age := int(h.now().Sub(day).Hours() / 24)
		checks = append(checks, check{
			name: fmt.Sprintf("prices of %s, %d days old", day.Format(time.DateOnly), age), problem: problem,
			tolerable: true,
		})
	}
	if problem := h.managed(); problem != "" {
		checks = append(checks, check{name: "managed configuration", problem: problem, tolerable: true})
	}
	for _, p := range h.router.Table().Providers(h.now()) {
		c := check{name: "provider " + p.Name, tolerable: true}
		if p.State == route.StateOpen {
			c.problem = "unavailable"
		}
		checks = append(checks, c)
	}
	return checks
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a client that has disconnected does not need it
}
