package dashboard

// done is what a page says was done, by the word of the query "done". A word
// that is not here says nothing, so that no link can make a page say what it
// likes.
var done = map[string]string{
	"key-revoked": "The key is revoked. Whoever uses it is refused within a second.",
	"key-made": "This form had been sent already: its key is in the list. A key is shown once; if it was " +
		"not kept, revoke it and generate another.",
	"name-changed":         "Your name is changed.",
	"password-changed":     "Your password is changed, and you are signed out everywhere else.",
	"session-ended":        "That session is ended.",
	"sessions-ended":       "You are signed out everywhere but here.",
	"role-changed":         "The role is changed.",
	"member-removed":       "They are no longer a member.",
	"invitation-cancelled": "The invitation is cancelled: its link leads nowhere now.",
	"account-created":      "The account is created. Its members and keys have pages of their own.",
	"account-suspended":    "The account is suspended. Its keys are refused within a second.",
	"account-resumed":      "The account is resumed: its keys are good again.",
	"limits-set":           "The limits are set. They hold within a second.",
	"budget-set":           "The budget is set. It holds within a second.",
	"credit-added":         "The credit is changed.",
	"credit-ended":         "The credit is ended: the account spends without paying beforehand.",
	"hangup-set":           "It is set for answers from now on.",
	"operator-added":       "They are an operator now.",
	"operator-removed":     "They are no longer an operator.",
	"webhook-made": "This form had been sent already: its endpoint is in the list. A secret is shown once; " +
		"if it was not kept, rotate it.",
	"webhook-changed": "The endpoint is changed.",
	"webhook-tested":  "A test event is on its way: its delivery is below. Load the page again to see what came of it.",
	"webhook-rotated": "This form had been sent already, and the secret is another one since. A secret is shown " +
		"once; if it was not kept, rotate it again.",
	"webhook-enabled": "The endpoint is enabled: what happens from now on is sent, and so is what still waits. " +
		"What happened meanwhile can be recovered below.",
	"webhook-disabled":    "The endpoint is disabled: nothing is sent to it.",
	"webhook-recovered":   "What it had not taken is sent. Load the page again to see what came of it.",
	"webhook-removed":     "The endpoint is removed, with its deliveries.",
	"webhook-redelivered": "The event is sent again, at once. Load the page again to see what came of it.",
	"signed-out":          "You are signed out.",
}
