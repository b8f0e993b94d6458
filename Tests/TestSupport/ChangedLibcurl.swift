internal import PlatformC

/// A libcurl in a file of its own that does as the installed one, which it calls, but for what a test changes:
/// what it refuses, and the version that it claims. It counts what is made and freed. No installed libcurl refuses an
/// option that it knows, so only this one shows whether a refusal is reported.
package final class ChangedLibcurl: @unchecked Sendable {
  /// What can be changed or read.
  package enum Number: Int32, Sendable {
    /// The option that is refused, counted from 1 on the handle that is made next; 0 for none.
    case refusedSetting
    /// How many options have been set on that handle.
    case settings
    /// The version claimed, as in `LIBCURL_VERSION_NUM`; 0 for the real one. Set before it is loaded.
    case version
    /// How many easy handles have been made.
    case made
    case refusesHandles, refusesMulti, refusesAdding, refusesPerforming
    /// The line of a list that is refused, counted from 1; 0 for none.
    case refusedLine
    /// How many lines have been added to lists since that was set.
    case lines
    /// How many lists, easy handles and multi handles there are.
    case lists, handles, multis
  }

  package static let isPossible = access("/usr/bin/cc", X_OK) == 0

  /// Why none could be made.
  private struct Failure: Error { let words: String }

  /// The library's file.
  package let path: String
  private let folder: TemporaryFolder
  private let change: @convention(c) (Int32, Int) -> Void
  private let number: @convention(c) (Int32) -> Int
  private let optionValue: @convention(c) (UInt32) -> Int

  /// Makes one that changes nothing but its version.
  package init(version: Int = 0) async throws {
    folder = try TemporaryFolder()
    let source = try folder.write(Self.source, to: "libcurl.c")
    path = folder.file("libcurl.so")
    let made = try await ChildProcess.run(
      "/usr/bin/cc",
      ["-shared", "-fPIC", "-o", path, source, "-Wl,--no-as-needed", "-l:libcurl.so.4", "-ldl"])
    guard made.exit == .status(0) else { throw Failure(words: made.errorText) }
    let opened: UnsafeMutableRawPointer? = dlopen(path, RTLD_LAZY)
    guard let library = opened else { throw Failure(words: "it cannot be loaded") }
    func address(_ name: String) throws -> UnsafeMutableRawPointer {
      let found: UnsafeMutableRawPointer? = dlsym(library, name)
      guard let found else { throw Failure(words: name) }
      return found
    }
    change = unsafeBitCast(try address("changed_set"), to: (@convention(c) (Int32, Int) -> Void).self)
    number = unsafeBitCast(try address("changed_number"), to: (@convention(c) (Int32) -> Int).self)
    optionValue = unsafeBitCast(try address("changed_value"), to: (@convention(c) (UInt32) -> Int).self)
    self[.version] = version
  }

  package subscript(number: Number) -> Int {
    get { self.number(number.rawValue) }
    set { change(number.rawValue, newValue) }
  }

  /// The number last set for an option, on the handle that was made first since ``Number/refusedSetting`` was
  /// set; -1 for none.
  package func value(of option: UInt32) -> Int { optionValue(option) }

  private static let source = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdarg.h>
    #include <stdatomic.h>
    #include <stddef.h>

    enum {
      REFUSED_SETTING, SETTINGS, VERSION, MADE, REFUSES_HANDLES, REFUSES_MULTI, REFUSES_ADDING,
      REFUSES_PERFORMING, REFUSED_LINE, LINES, LISTS, HANDLES, MULTIS, COUNT
    };
    enum { OPTIONS = 512, HEADS = 256 };

    static atomic_long numbers[COUNT];
    static atomic_long values[OPTIONS];
    static _Atomic(void *) first;
    static _Atomic(void *) heads[HEADS];

    void changed_set(int what, long number) {
      if (what == REFUSED_SETTING) {
        atomic_store(&first, NULL);
        atomic_store(&numbers[SETTINGS], 0);
        for (int i = 0; i < OPTIONS; i++) atomic_store(&values[i], -1);
      }
      if (what == REFUSED_LINE) atomic_store(&numbers[LINES], 0);
      atomic_store(&numbers[what], number);
    }

    long changed_number(int what) { return atomic_load(&numbers[what]); }
    long changed_value(unsigned option) { return option < OPTIONS ? atomic_load(&values[option]) : -1; }

    static void *installed(const char *name) {
      return dlsym(dlopen("libcurl.so.4", RTLD_LAZY), name);
    }

    void *curl_easy_init(void) {
      if (atomic_load(&numbers[REFUSES_HANDLES])) return NULL;
      void *handle = ((void *(*)(void))installed("curl_easy_init"))();
      void *none = NULL;
      atomic_compare_exchange_strong(&first, &none, handle);
      atomic_fetch_add(&numbers[MADE], 1);
      atomic_fetch_add(&numbers[HANDLES], 1);
      return handle;
    }

    void curl_easy_cleanup(void *handle) {
      atomic_fetch_sub(&numbers[HANDLES], 1);
      ((void (*)(void *))installed("curl_easy_cleanup"))(handle);
    }

    int curl_easy_setopt(void *handle, int option, ...) {
      va_list rest;
      va_start(rest, option);
      void *argument = va_arg(rest, void *);
      va_end(rest);
      if (handle == atomic_load(&first)) {
        if (option >= 0 && option < OPTIONS) atomic_store(&values[option], (long)argument);
        long number = atomic_fetch_add(&numbers[SETTINGS], 1) + 1;
        if (number == atomic_load(&numbers[REFUSED_SETTING])) return 48;
      }
      return ((int (*)(void *, int, ...))installed("curl_easy_setopt"))(handle, option, argument);
    }

    struct information {
      int age;
      const char *version;
      unsigned number;
      const char *host;
      int features;
      const char *tls;
      long tls_number;
      const char *gzip;
    };

    void *curl_version_info(int age) {
      static struct information changed;
      struct information *found = ((void *(*)(int))installed("curl_version_info"))(age);
      long number = atomic_load(&numbers[VERSION]);
      if (!number) return found;
      changed = *found;
      changed.number = (unsigned)number;
      return &changed;
    }

    void *curl_multi_init(void) {
      if (atomic_load(&numbers[REFUSES_MULTI])) return NULL;
      atomic_fetch_add(&numbers[MULTIS], 1);
      return ((void *(*)(void))installed("curl_multi_init"))();
    }

    int curl_multi_cleanup(void *multi) {
      atomic_fetch_sub(&numbers[MULTIS], 1);
      return ((int (*)(void *))installed("curl_multi_cleanup"))(multi);
    }

    int curl_multi_add_handle(void *multi, void *handle) {
      if (atomic_load(&numbers[REFUSES_ADDING])) return 3;
      return ((int (*)(void *, void *))installed("curl_multi_add_handle"))(multi, handle);
    }

    int curl_multi_perform(void *multi, int *running) {
      if (atomic_load(&numbers[REFUSES_PERFORMING])) return 4;
      return ((int (*)(void *, int *))installed("curl_multi_perform"))(multi, running);
    }

    // libcurl may have lists of its own, which do not count.
    static void replace_head(void *old, void *new, long more) {
      for (int i = 0; i < HEADS; i++) {
        void *expected = old;
        if (!atomic_compare_exchange_strong(&heads[i], &expected, new)) continue;
        atomic_fetch_add(&numbers[LISTS], more);
        return;
      }
    }

    void *curl_slist_append(void *list, const char *line) {
      long number = atomic_fetch_add(&numbers[LINES], 1) + 1;
      if (number == atomic_load(&numbers[REFUSED_LINE])) return NULL;
      void *head = ((void *(*)(void *, const char *))installed("curl_slist_append"))(list, line);
      if (!list && head) replace_head(NULL, head, 1);
      return head;
    }

    void curl_slist_free_all(void *list) {
      if (list) replace_head(list, NULL, -1);
      ((void (*)(void *))installed("curl_slist_free_all"))(list);
    }
    """
}
