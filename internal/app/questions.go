package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"weir/internal/ledger"
	"weir/internal/provider"
	"weir/internal/route"
	"weir/internal/store"
)

// Providers are queried about replies with an unknown end: questionsAtOnce at once, every questionsEvery, so a node
// sends at most 120 queries a minute. A batch takes as long as its slowest query.
const (
	questionsEvery  = 2 * time.Second
	questionsAtOnce = 4
)

// inquiry queries providers about attempts with an unknown end, and resolves the attempts from the answers.
type inquiry struct {
	router      *route.Router
	corrections *store.Corrections
	log         *slog.Logger
}

// run queries until ctx ends. It does nothing while no provider can be queried.
func (i *inquiry) run(ctx context.Context) {
	every := time.NewTicker(questionsEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		asking := i.router.Table().Asking()
		if len(asking) == 0 {
			continue
		}
		if err := i.askSome(ctx, asking); err != nil && ctx.Err() == nil {
			i.log.Error("providers could not be queried about replies", "err", err)
		}
	}
}

// askSome asks some of the questions that are due.
func (i *inquiry) askSome(ctx context.Context, asking []*provider.Provider) error {
	names := make([]string, len(asking))
	for n, p := range asking {
		names[n] = p.Name()
	}
	list, err := i.corrections.TakeQuestions(ctx, names, questionsAtOnce)
	if err != nil {
		return err
	}
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for n := range list {
		all.Go(func() { errs[n] = i.askOne(ctx, asking[slices.Index(names, list[n].Provider)], &list[n]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// askOne queries a provider. If the provider does not answer, the question is asked again later.
func (i *inquiry) askOne(ctx context.Context, p *provider.Provider, q *ledger.Question) error {
	reply, err := p.AskWithAny(ctx, q.ReplyID)
	log := i.log.With("attempt", q.ID.String(), "provider", p.Name())
	if err != nil {
		log.Debug("a provider does not know the queried reply", "err", err)
		return nil
	}
	resolved, err := i.corrections.AnswerQuestion(ctx, q.ID, reply, p.BillsItself())
	if err == nil {
		log.Debug("a provider was queried about a reply", "resolved", resolved)
	}
	return err
}
