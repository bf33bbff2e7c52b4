package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/llm"
)

func newMove(env *environment) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "move", Short: "Move the SQLite database of this installation to PostgreSQL",
		Long: "Copy the SQLite database of this installation into an empty PostgreSQL database, while no gateway " +
			"runs.\n" +
			"When it is interrupted, run it again: it goes on where it was. The SQLite file stays as it is.\n" +
			"To keep the password off the command line, leave --to out and set WEIR_MOVE_TO.",
		Example: "  weir move --to postgres://weir:secret@db.example/weir", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				to = os.Getenv("WEIR_MOVE_TO")
			}
			if to == "" {
				return usageError{fmt.Errorf("say where to: --to postgres://user:password@host/database")}
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
	rows, kept, err := app.Move(cmd.Context(), cfg, app.MoveOptions{To: to, Progress: bar.show, Log: env.logger(&cfg)})
	bar.done()
	if err != nil {
		return err
	}
	again := ""
	if kept > 0 {
		again = fmt.Sprintf(", %d of them by an earlier run", kept)
	}
	_, err = fmt.Fprintf(env.stdout, "moved %d rows%s; counts and sums are equal\n"+
		"now set `database` in weir.yaml to this URL, best as database: \"${WEIR_DATABASE_URL}\" with the variable "+
		"holding it, and start weir serve\n"+
		"keep %s: the journal in it goes on; weir.db is not used any more\n", rows, again, filepath.Clean(cfg.Data))
	return err
}
