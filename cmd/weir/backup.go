package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/app"
)

func newBackup(env *environment) *cobra.Command {
	var withKey bool
	cmd := &cobra.Command{
		Use: "backup FILE|DIR", Short: "Back up this installation to a file, beside a running gateway",
		Long: "Back up the SQLite database and the journal of this installation to FILE, or to a file in DIR that\n" +
			"is named by the time. A gateway may run meanwhile. The configuration is not in the backup.\n" +
			"Secrets in the database, such as those of webhooks, are sealed. Without the key, which\n" +
			"--with-secrets-key puts into the backup, they cannot be read after a restore: keep the key elsewhere,\n" +
			"or keep the backup as safe as the key.",
		Example: "  weir backup /backup/weir.backup\n  weir backup /backup --with-secrets-key",
		Args:    oneArg("a file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUp(cmd, env, args[0], withKey)
		},
	}
	cmd.Flags().BoolVar(&withKey, "with-secrets-key", false, "put the key into the backup that secrets are sealed with")
	cmd.AddCommand(newBackupCheck(env))
	return cmd
}

func backUp(cmd *cobra.Command, env *environment, to string, withKey bool) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	copied, packed := newProgress(env.stderr, "pages copied"), newProgress(env.stderr, "bytes packed")
	done, err := app.Backup(cmd.Context(), cfg, app.BackupOptions{
		To: to, SecretsKey: withKey, Version: version(), Now: time.Now, Copied: copied.show, Packed: packed.show,
		Log: env.logger(&cfg),
	})
	copied.done()
	packed.done()
	if err != nil {
		return err
	}
	if done.Sealed > 0 {
		fmt.Fprintf(env.stderr, "%d secrets in the backup are sealed, and the key is not in it: keep a copy of the key\n",
			done.Sealed)
	}
	_, err = fmt.Fprintf(env.stdout, "%s: %d bytes, %d files, schema %d, as of %s\n", done.Path, done.Size,
		len(done.Manifest.Files), done.Manifest.Schema, done.Manifest.Created.Format(time.RFC3339))
	return err
}

func newBackupCheck(env *environment) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Restore a backup into a temporary directory, verify its ledger, and delete it again",
		Long: "Restore a backup into a temporary directory, verify its ledger, and delete it again. The directory\n" +
			"needs as much room as the database.",
		Example: "  weir backup check /backup/weir.backup", Args: oneArg("the file of a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			temp, err := os.MkdirTemp(dir, "weir-check-")
			if err != nil {
				return err
			}
			err = restore(cmd, env, args[0], filepath.Join(temp, "data"))
			if rest := os.RemoveAll(temp); rest != nil {
				return fmt.Errorf("delete the restored copy: %w", rest)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "temp", "", "directory for the temporary one (default the system's)")
	return cmd
}

func newRestore(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Make a data directory from a backup, and verify its ledger",
		Long: "Make a data directory from a backup, in a directory that is empty or not there, and verify its ledger.\n" +
			"Everything is as it was when the backup was made: keys that were revoked since then are valid again.\n" +
			"Requests that were under way then are settled as unknown, at their upper bound. When a restore is\n" +
			"interrupted, run it again.",
		Example: "  weir restore /backup/weir.backup --data /var/lib/weir", Args: oneArg("the file of a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := env.loadConfig("")
			if err != nil {
				return err
			}
			return restore(cmd, env, args[0], cfg.Data)
		},
	}
}

// restore restores into a directory, and is an error, too, where the ledger has differences.
func restore(cmd *cobra.Command, env *environment, from, data string) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	cfg.Data = data
	unpacked, verified := newProgress(env.stderr, "bytes unpacked"), newProgress(env.stderr, "rows verified")
	done, err := app.Restore(cmd.Context(), cfg, app.RestoreOptions{
		From: from, Unpacked: unpacked.show, Verified: verified.show, By: actor(), Log: env.logger(&cfg),
	})
	unpacked.done()
	verified.done()
	if err != nil {
		return err
	}
	v := &done.Verification
	for i := range v.Differences {
		fmt.Fprintln(env.stdout, differenceLine(&v.Differences[i]))
	}
	_, err = fmt.Fprintf(env.stdout, "restored as of %s: %d rows (%d unknown), %d sums: %d differences\n",
		done.Manifest.Created.Format(time.RFC3339), v.Rows, v.Unknown, v.Rollups, len(v.Differences))
	if err == nil && len(v.Differences) > 0 {
		return errQuiet
	}
	return err
}
