package dashboard

// done maps the query "done" of a page to the confirmation that it shows. Unknown values show nothing, so that a link
// cannot make a page show arbitrary text.
var done = map[string]string{
	"key-changed": "The key was changed. The change takes effect within a second.",
	"key-rotated": "This form was already sent, and the key was rotated. Its secret is shown only once: if you did " +
		"not copy it, rotate it again.",
	"key-revoked": "The key is revoked. Requests with it are refused within a second.",
	"key-made": "This form was already sent. Its key is in the list. A key is shown only once: if you " +
		"did not copy it, revoke it and generate another.",
	"name-changed":         "Your name was changed.",
	"password-changed":     "Your password was changed. Your other sessions are signed out.",
	"session-ended":        "The session was ended.",
	"sessions-ended":       "Your other sessions are signed out.",
	"role-changed":         "The role was changed.",
	"member-removed":       "The member was removed.",
	"invitation-cancelled": "The invitation was cancelled. Its link no longer works.",
	"account-created":      "The account was created. Its members and keys have their own pages.",
	"account-suspended":    "The account is suspended. Requests with its keys are refused within a second.",
	"account-resumed":      "The account is active again. Its keys work.",
	"account-closed":       "The account was closed.",
	"limits-set":           "The limits were set. They take effect within a second.",
	"budget-set":           "The budget was set. It takes effect within a second.",
	"price-list-set":       "The price list was set. It applies to requests that arrive from its start on.",
	"credit-added":         "The credit was changed.",
	"credit-ended":         "The credit was ended. The account now spends without prepayment.",
	"hangup-set":           "The setting was saved. It applies to answers from now on.",
	"attempt-resolved":     "The cost of the attempt was set.",
	"content-removed":      "The content was deleted.",
	"answers-purged":       "The stored answers were deleted.",
	"content-set":          "The content log was set. It takes effect within a second.",
	"operator-added":       "The user is now an operator.",
	"operator-removed":     "The user is no longer an operator.",
	"tool-approved":        "The definition was approved. The tool may be called within some seconds.",
	"tools-forgotten":      "The stored definitions of tools that the server no longer lists were removed.",
	"passkey-added":        "The passkey was added.",
	"passkey-removed":      "The passkey was removed.",
	"factor-removed":       "The second factor was removed. Your other sessions are signed out.",
	"user-disabled":        "The user is disabled, and their sessions have ended.",
	"user-enabled":         "The user may sign in again.",
	"user-removed":         "The user was removed.",
	"user-factor-removed":  "The second factor was removed. The user signs in with the password alone.",
	"webhook-made": "This form was already sent. Its endpoint is in the list. A secret is shown only " +
		"once: if you did not copy it, rotate it.",
	"webhook-changed": "The endpoint was changed.",
	"alert-tested":    "A test was queued for each endpoint of the installation that receives alerts.",
	"webhook-tested":  "A test event was queued. Its delivery is listed below. Reload the page to see the result.",
	"webhook-rotated": "This form was already sent, and the secret was rotated. A secret is shown only once: if " +
		"you did not copy it, rotate it again.",
	"webhook-enabled": "The endpoint is enabled. It receives new events and those that are still waiting. To " +
		"send the " +
		"events that it missed, use Recover below.",
	"webhook-disabled":    "The endpoint is disabled. Nothing is sent to it.",
	"webhook-recovered":   "The missed events were queued. Reload the page to see the result.",
	"webhook-removed":     "The endpoint was removed with its deliveries.",
	"webhook-redelivered": "The event was queued again. Reload the page to see the result.",
	"provider-saved":      "The provider was saved. It is in force on every node within a second.",
	"provider-removed":    "The provider was removed.",
	"config-saved":        "The configuration was changed. It is in force on every node within a second.",
	"statement-closed":    "The statement was closed.",
	"signed-out":          "You are signed out.",
}
