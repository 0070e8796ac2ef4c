//go:build unix && !linux

package servertest

import "syscall"

func orphan(*syscall.SysProcAttr) {}
