// Package browsertest drives the dashboard in a real Chromium, as people use it,
// before a gateway that runs as people run it. The steps are in suite.mjs, which
// Playwright takes; the tests start what the browser needs.
package browsertest
