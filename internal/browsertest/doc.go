// Package browsertest drives the dashboard in a real Chromium, as people use it, with a gateway that runs as people run
// it. The steps are in suite.mjs and oauth.mjs, which Playwright runs; the tests start everything that the browser needs.
package browsertest
