package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/llm"
)

func newMove(env *environment) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "move", Short: "Move the SQLite database of this installation to PostgreSQL",
		Long: "Copy the SQLite database of this installation into an empty PostgreSQL database, while no gateway\n" +
			"runs.\n" +
			"If the command is interrupted, run it again: it continues where it stopped. The SQLite file stays\n" +
			"unchanged.\n" +
			"To keep the password off the command line, set WEIR_MOVE_TO instead of --to.",
		Example: "  weir move --to postgres://weir:secret@db.example/weir", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				to = os.Getenv("WEIR_MOVE_TO")
			}
			if to == "" {
				return usageError{fmt.Errorf("give the target: --to postgres://user:password@host/database")}
			}
			return move(cmd, env, llm.NewSecret(to))
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "URL of an empty PostgreSQL database")
	return cmd
}

func move(cmd *cobra.Command, env *environment, to llm.Secret) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	bar := newProgress(env.stderr, "rows")
	rows, kept, err := admin.Move(cmd.Context(), cfg, admin.MoveOptions{
		To: to, Progress: bar.show, Log: env.logger(&cfg),
	})
	bar.done()
	if err != nil {
		return err
	}
	again := ""
	if kept > 0 {
		again = fmt.Sprintf(", %d of them by an earlier run", kept)
	}
	_, err = fmt.Fprintf(env.stdout, "moved %d rows%s; counts and sums are equal\n"+
		"now set `database` in weir.yaml to this URL, preferably as database: \"${WEIR_DATABASE_URL}\" "+
		"with the URL in that variable, and start weir serve\n"+
		"keep %s: its journal continues; weir.db is no longer used\n", rows, again, filepath.Clean(cfg.Data))
	return err
}
