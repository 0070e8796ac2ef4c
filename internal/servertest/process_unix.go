//go:build unix

package servertest

import (
	"os/exec"
	"syscall"
)

// isolate keeps a signal for the test from reaching the server as well.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	orphan(cmd.SysProcAttr)
}

func freeze(cmd *exec.Cmd, on bool) error {
	if on {
		return cmd.Process.Signal(syscall.SIGSTOP)
	}
	return cmd.Process.Signal(syscall.SIGCONT)
}
