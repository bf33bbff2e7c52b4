package upstream

// refusedSockets returns a function that logs that a provider refuses WebSockets.
func (b *Builder) refusedSockets(name string) func(error) {
	return func(err error) {
		b.options.Log.Warn("the provider refuses WebSockets: requests are sent over HTTP for a minute",
			"provider", name, "err", err)
	}
}
