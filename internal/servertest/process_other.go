//go:build !unix

package servertest

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) {}

func freeze(*exec.Cmd, bool) error { return errors.New("a process cannot be stopped here") }
