/* A kernel side for Intel's Vulkan driver (ANV) that accepts everything and runs nothing; preloaded by no_op_driver.py.
 *
 * The process finds one GPU, a Tiger Lake with 96 execution units (Iris Xe).  Its device file is a sparse file in
 * memory, of which each buffer has a range, so mapping works as it is.  Every wait ends at once; a timeline has
 * reached the last point that anything was submitted for.  No result of a kernel means anything.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <drm.h>
#include <errno.h>
#include <fcntl.h>
#include <i915_drm.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

enum { VENDOR = 0x8086, TIGER_LAKE_GT2 = 0x9a49, DRM_MAJOR = 226, RENDER_MINOR = 128 };
enum { SUBSLICES = 6, UNITS = 16 }; /* dual subslices, and execution units in each */
enum { TICKS_PER_SECOND = 19200000, MOST_SYNC_OBJECTS = 1 << 16, FIRST_MAPPING = 1 << 16, GRANULE = 1 << 16 };
enum { SYNC_OBJECT_CAPABILITIES = 1 };

static char render_path[] = "/dev/dri/renderD128";
static char no_path[] = "/dev/dri/none"; /* the driver tries the other nodes, too */
static char *node_paths[DRM_NODE_MAX] = {no_path, no_path, render_path};
static drmPciBusInfo bus = {.domain = 0, .bus = 0, .dev = 2, .func = 0};
static drmPciDeviceInfo info = {.vendor_id = VENDOR, .device_id = TIGER_LAKE_GT2, .revision_id = 1};
static drmDevice device = {
    .nodes = node_paths,
    .available_nodes = 1 << DRM_NODE_RENDER,
    .bustype = DRM_BUS_PCI,
    .businfo = {.pci = &bus},
    .deviceinfo = {.pci = &info},
};

static int memory = -1; /* the file of which every opened device is a duplicate */
static struct stat memory_identity;
static _Atomic uint32_t last_handle;
static _Atomic uint64_t memory_end = FIRST_MAPPING;
static _Atomic uint64_t points[MOST_SYNC_OBJECTS]; /* what each timeline has reached */
static _Atomic uint64_t ticks;

/* Handles are given out with their memory: its beginning is found by the handle. */
enum { MOST_BUFFERS = 1 << 20 };
static uint64_t beginnings[MOST_BUFFERS];

__attribute__((constructor)) static void make_memory(void)
{
    memory = memfd_create("no-op GPU", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)1 << 46) || fstat(memory, &memory_identity))
        _exit(70);
}

static int is_device(int fd)
{
    struct stat found;
    return fd >= 0 && fstat(fd, &found) == 0 && found.st_dev == memory_identity.st_dev &&
           found.st_ino == memory_identity.st_ino;
}

/* ---- how the driver finds the device */

int drmGetDevices2(uint32_t flags, drmDevicePtr devices[], int most)
{
    if (devices && most > 0)
        devices[0] = &device;
    return 1;
}

int drmGetDevice2(int fd, uint32_t flags, drmDevicePtr *found)
{
    *found = &device;
    return 0;
}

void drmFreeDevices(drmDevicePtr devices[], int count) {}

void drmFreeDevice(drmDevicePtr *freed) {}

int open64(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list rest;
    if (strcmp(path, render_path) == 0)
        return fcntl(memory, F_DUPFD_CLOEXEC, 0);
    if (!next)
        next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return next(path, flags, mode);
}

int stat64(const char *path, struct stat64 *found)
{
    static int (*next)(const char *, struct stat64 *);
    if (!next)
        next = (int (*)(const char *, struct stat64 *))dlsym(RTLD_NEXT, "stat64");
    if (strcmp(path, render_path))
        return next(path, found);
    memset(found, 0, sizeof *found);
    found->st_mode = S_IFCHR | 0666;
    found->st_rdev = makedev(DRM_MAJOR, RENDER_MINOR);
    return 0;
}

/* ---- requests */

static uint32_t new_buffer(uint64_t size)
{
    uint32_t handle = ++last_handle;
    if (handle >= MOST_BUFFERS)
        return 0;
    beginnings[handle] = atomic_fetch_add(&memory_end, (size + GRANULE - 1) / GRANULE * GRANULE);
    return handle;
}

static int parameter(struct drm_i915_getparam *asked)
{
    switch (asked->param) {
    case I915_PARAM_CHIPSET_ID: *asked->value = TIGER_LAKE_GT2; return 0;
    case I915_PARAM_REVISION: *asked->value = info.revision_id; return 0;
    case I915_PARAM_HAS_ALIASING_PPGTT: *asked->value = 3; return 0;
    case I915_PARAM_MMAP_VERSION: *asked->value = 1; return 0;
    case I915_PARAM_MMAP_GTT_VERSION: *asked->value = 4; return 0;
    case I915_PARAM_CMD_PARSER_VERSION: *asked->value = 10; return 0;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY: *asked->value = TICKS_PER_SECOND; return 0;
    case I915_PARAM_SLICE_MASK: *asked->value = 1; return 0;
    case I915_PARAM_SUBSLICE_MASK: *asked->value = (1 << SUBSLICES) - 1; return 0;
    case I915_PARAM_SUBSLICE_TOTAL: *asked->value = SUBSLICES; return 0;
    case I915_PARAM_EU_TOTAL: *asked->value = SUBSLICES * UNITS; return 0;
    case I915_PARAM_PERF_REVISION: errno = EINVAL; return -1;
    default: *asked->value = 1; return 0;
    }
}

struct topology {
    struct drm_i915_query_topology_info head;
    uint8_t slices, subslices, units[SUBSLICES][UNITS / 8];
};

static int answer_length(uint64_t query)
{
    return query == DRM_I915_QUERY_TOPOLOGY_INFO ? (int)sizeof(struct topology)
           : query == DRM_I915_QUERY_ENGINE_INFO
               ? (int)(sizeof(struct drm_i915_query_engine_info) + sizeof(struct drm_i915_engine_info))
               : -EINVAL;
}

static void answer(struct drm_i915_query_item *item)
{
    void *into = (void *)(uintptr_t)item->data_ptr;
    int length = answer_length(item->query_id);
    if (item->length == 0 || length < 0) {
        item->length = length;
        return;
    }
    if (item->query_id == DRM_I915_QUERY_ENGINE_INFO) {
        struct drm_i915_query_engine_info *engines = into;
        engines->num_engines = 1;
        engines->engines[0].engine.engine_class = I915_ENGINE_CLASS_RENDER;
        return;
    }
    struct topology whole = {
        .head = {.max_slices = 1, .max_subslices = SUBSLICES, .max_eus_per_subslice = UNITS},
        .slices = 1,
        .subslices = (1 << SUBSLICES) - 1,
    };
    memset(whole.units, 0xff, sizeof whole.units);
    whole.head.subslice_offset = offsetof(struct topology, subslices) - offsetof(struct topology, slices);
    whole.head.subslice_stride = 1;
    whole.head.eu_offset = offsetof(struct topology, units) - offsetof(struct topology, slices);
    whole.head.eu_stride = UNITS / 8;
    memcpy(into, &whole, sizeof whole);
}

static void reached(uint32_t handle, uint64_t point)
{
    if (handle < MOST_SYNC_OBJECTS && points[handle] < point)
        points[handle] = point;
}

static void submitted(struct drm_i915_gem_execbuffer2 *batch)
{
    if (!(batch->flags & I915_EXEC_USE_EXTENSIONS))
        return;
    struct i915_user_extension *next = (void *)(uintptr_t)batch->cliprects_ptr;
    for (; next; next = (void *)(uintptr_t)next->next_extension) {
        struct drm_i915_gem_execbuffer_ext_timeline_fences *fences = (void *)next;
        struct drm_i915_gem_exec_fence *each = (void *)(uintptr_t)fences->handles_ptr;
        uint64_t *values = (void *)(uintptr_t)fences->values_ptr;
        for (uint64_t i = 0; i < fences->fence_count; i++)
            if (each[i].flags & I915_EXEC_FENCE_SIGNAL)
                reached(each[i].handle, values[i]);
    }
}

static int of_context(struct drm_i915_gem_context_param *asked)
{
    asked->value = asked->param == I915_CONTEXT_PARAM_GTT_SIZE ? (uint64_t)1 << 48 : 1;
    return 0;
}

static int driver_request(unsigned number, void *given)
{
    switch (number) {
    case DRM_I915_GETPARAM: return parameter(given);
    case DRM_I915_GEM_CONTEXT_GETPARAM: return of_context(given);
    case DRM_I915_GEM_EXECBUFFER2: submitted(given); return 0;
    case DRM_I915_GEM_CONTEXT_CREATE: ((struct drm_i915_gem_context_create *)given)->ctx_id = ++last_handle; return 0;
    case DRM_I915_GEM_VM_CREATE: ((struct drm_i915_gem_vm_control *)given)->vm_id = ++last_handle; return 0;
    case DRM_I915_GEM_BUSY: ((struct drm_i915_gem_busy *)given)->busy = 0; return 0;
    case DRM_I915_REG_READ: ((struct drm_i915_reg_read *)given)->val = ++ticks; return 0;
    case DRM_I915_GEM_CREATE: {
        struct drm_i915_gem_create *made = given;
        made->handle = new_buffer(made->size);
        return 0;
    }
    case DRM_I915_GEM_CREATE_EXT: {
        struct drm_i915_gem_create_ext *made = given;
        made->handle = new_buffer(made->size);
        return 0;
    }
    case DRM_I915_GEM_USERPTR: {
        struct drm_i915_gem_userptr *made = given;
        made->handle = new_buffer(made->user_size);
        return 0;
    }
    case DRM_I915_GEM_MMAP_GTT: {
        struct drm_i915_gem_mmap_offset *mapped = given;
        mapped->offset = beginnings[mapped->handle];
        return 0;
    }
    case DRM_I915_QUERY: {
        struct drm_i915_query *asked = given;
        struct drm_i915_query_item *items = (void *)(uintptr_t)asked->items_ptr;
        for (uint32_t i = 0; i < asked->num_items; i++)
            answer(&items[i]);
        return 0;
    }
    case DRM_I915_GEM_CONTEXT_DESTROY:
    case DRM_I915_GEM_CONTEXT_SETPARAM:
    case DRM_I915_GEM_VM_DESTROY:
    case DRM_I915_GEM_WAIT:
    case DRM_I915_GEM_SET_DOMAIN:
    case DRM_I915_GEM_SET_CACHING:
    case DRM_I915_GEM_SET_TILING:
    case DRM_I915_GEM_MADVISE:
    case DRM_I915_GET_RESET_STATS: return 0;
    default: errno = EINVAL; return -1;
    }
}

static int timeline_request(unsigned number, struct drm_syncobj_timeline_array *given)
{
    uint32_t *handles = (void *)(uintptr_t)given->handles;
    uint64_t *values = (void *)(uintptr_t)given->points;
    for (uint32_t i = 0; i < given->count_handles; i++) {
        if (number == _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY))
            values[i] = handles[i] < MOST_SYNC_OBJECTS ? points[handles[i]] : 0;
        else
            reached(handles[i], values[i]);
    }
    return 0;
}

/* Copies what fits, and gives the length of all. */
static size_t said(char *into, size_t most, const char *text)
{
    size_t length = strlen(text);
    if (into)
        memcpy(into, text, most < length ? most : length);
    return length;
}

static int common_request(unsigned number, void *given)
{
    switch (number) {
    case _IOC_NR(DRM_IOCTL_VERSION): {
        struct drm_version *version = given;
        version->version_major = 1, version->version_minor = 6;
        version->name_len = said(version->name, version->name_len, "i915");
        version->date_len = said(version->date, version->date_len, "0");
        version->desc_len = said(version->desc, version->desc_len, "no-op");
        return 0;
    }
    case _IOC_NR(DRM_IOCTL_GET_CAP): ((struct drm_get_cap *)given)->value = SYNC_OBJECT_CAPABILITIES; return 0;
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE): {
        uint32_t handle = ++last_handle;
        if (handle < MOST_SYNC_OBJECTS)
            points[handle] = 0;
        ((struct drm_syncobj_create *)given)->handle = handle;
        return 0;
    }
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL): return timeline_request(number, given);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER): {
        struct drm_syncobj_transfer *moved = given;
        reached(moved->dst_handle, moved->dst_point);
        return 0;
    }
    case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT): return 0;
    default: errno = EINVAL; return -1;
    }
}

int ioctl(int fd, unsigned long request, ...)
{
    static int (*next)(int, unsigned long, ...);
    va_list rest;
    va_start(rest, request);
    void *given = va_arg(rest, void *);
    va_end(rest);
    unsigned number = _IOC_NR(request);
    if (_IOC_TYPE(request) != DRM_IOCTL_BASE || !is_device(fd)) {
        if (!next)
            next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
        return next(fd, request, given);
    }
    if (number >= DRM_COMMAND_BASE && number < DRM_COMMAND_END)
        return driver_request(number - DRM_COMMAND_BASE, given);
    return common_request(number, given);
}
