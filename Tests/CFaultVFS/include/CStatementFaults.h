// Refuses (SQLITE_AUTH), on every connection of this process to a database whose path begins in a chosen way, the n-th
// thing that a statement is compiled to do: to use a table or a pragma, or to begin or end a transaction. Such an error
// ends the statement but, unlike an error of the disk, not the transaction it is in: the caller has to do that.
#pragma once
#include <stdint.h>

// Connections that are opened to databases whose path begins so count from now on. Returns 0 when that could not be done.
int statementfaults_begin(const char *path);
// Connections that are opened from now on do not count; what is asked of them goes past one place less.
void statementfaults_end(const char *path);
// Counts anew, and refuses the n-th of them (from 1); 0 for none.
void statementfaults_arm(const char *path, int64_t nth);
// How many there were since arming.
int64_t statementfaults_count(const char *path);
// What was refused, as "insert body"; empty where nothing was. Valid for as long as the process runs.
const char *statementfaults_refused(const char *path);
