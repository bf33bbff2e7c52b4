package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"weir/internal/ledger"
	"weir/internal/provider"
)

// Providers are queried about replies with an unknown end: questionsAtOnce at once, every questionsEvery, so a node
// sends at most 120 queries a minute. A batch takes as long as its slowest query.
const (
	questionsEvery  = 2 * time.Second
	questionsAtOnce = 4
)

// askProviders queries providers about attempts with an unknown end, and resolves the attempts from the answers. It
// does nothing if no provider can be queried.
func (g *instance) askProviders(ctx context.Context) {
	every := time.NewTicker(questionsEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		asking := g.router.Table().Asking()
		if len(asking) == 0 {
			continue
		}
		if err := g.askSome(ctx, asking); err != nil && ctx.Err() == nil {
			g.options.Log.Error("providers could not be queried about replies", "err", err)
		}
	}
}

// askSome asks some of the questions that are due.
func (g *instance) askSome(ctx context.Context, asking []*provider.Provider) error {
	names := make([]string, len(asking))
	for i, p := range asking {
		names[i] = p.Name()
	}
	list, err := g.store.Ledger.TakeQuestions(ctx, names, questionsAtOnce)
	if err != nil {
		return err
	}
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() { errs[i] = g.askOne(ctx, asking[slices.Index(names, list[i].Provider)], &list[i]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// askOne queries a provider. If the provider does not answer, the question is asked again later.
func (g *instance) askOne(ctx context.Context, p *provider.Provider, q *ledger.Question) error {
	reply, err := p.AskWithAny(ctx, q.ReplyID)
	log := g.options.Log.With("attempt", q.ID.String(), "provider", p.Name())
	if err != nil {
		log.Debug("a provider does not know the queried reply", "err", err)
		return nil
	}
	resolved, err := g.store.Ledger.AnswerQuestion(ctx, q.ID, reply, p.BillsItself())
	if err == nil {
		log.Debug("a provider was queried about a reply", "resolved", resolved)
	}
	return err
}
