// Package invariants checks what cannot be false unless the code that says so is wrong. Under the race detector or with
// the build tag invariants a false one panics; otherwise Check compiles to nothing. It is never used for input, errors
// or anything else that happens in a correct program.
package invariants
