// Package golden reads, lays out and judges golden cases: real files, a real
// call, and the verdict, codes and places that are wanted of it.
package golden
