package app

import "log/slog"

const (
	usualConnections = 16 << 10 // clients may have at once, of 20 KB each while they are idle
	// ownFiles and an ownShare of all, up to mostOwnFiles, are for the database, the journal, webhooks and all else.
	ownFiles, ownShare, mostOwnFiles = 64, 32, 512
	// beside is how many connections to providers there are for answers that come late, beside one for each request.
	besideShare, besideFiles = 8, 64
)

// fileShares says for what the files are that the process may open, so that nobody takes those of others: a request
// needs one for its client and one for its provider.
type fileShares struct {
	clients   int // connections of clients
	providers int // connections to providers, idle ones too
	places    int // requests in flight
}

// shareFiles shares out so many files, for at most so many requests in flight: a third of the files at most.
func shareFiles(files, concurrency int) fileShares {
	rest := files - min(ownFiles+files/ownShare, mostOwnFiles, files/2)
	places := max(1, min(rest/3, concurrency))
	providers := min(rest*3/8, places+places/besideShare+besideFiles)
	clients := min(rest-providers, max(usualConnections, 2*concurrency))
	return fileShares{clients: clients, providers: rest - clients, places: places}
}

// warn says where fewer requests can be in flight than are configured.
func (s fileShares) warn(log *slog.Logger, files, concurrency int) {
	if s.places < concurrency {
		log.Warn("max_concurrency cannot be reached: the process may open too few files (ulimit -n, LimitNOFILE)",
			"files", files, "in_flight", s.places, "max_concurrency", concurrency, "needed", 3*concurrency+mostOwnFiles)
	}
}
