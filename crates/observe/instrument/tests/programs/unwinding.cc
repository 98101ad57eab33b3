#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>
struct Guard { const char*n; ~Guard(){ printf("~%s\n", n);} };
struct Base { virtual int f(int x){ return x; } virtual ~Base(){} };
struct Derived: Base { int f(int x) override { if(x>3) throw std::runtime_error("big"); return x*2; } };
__attribute__((noinline)) int thrower(int x){ if(x&1) throw x; return x; }
__attribute__((noinline)) int middle(int x){ Guard g{"middle"}; return thrower(x)+1; }
__attribute__((noinline)) int direct(int x){ try { return thrower(x); } catch(int v){ return -v; } }
__attribute__((noinline)) int rethrow(int x){ try { return middle(x); } catch(...){ puts("re"); throw; } }
__attribute__((noinline)) int depth(){ void*b[64]; return backtrace(b,64); }
__attribute__((noinline)) int outer(int n){ return n? outer(n-1)+0*printf(".") : depth(); }
extern "C" void* worker(void*){ Guard g{"worker"}; for(;;) { pthread_testcancel(); usleep(100);} }
__attribute__((noinline)) void leave(){ Guard g{"leave"}; pthread_exit(nullptr); }
extern "C" void* other(void*){ leave(); return nullptr; }
int main(){
  for(int i=0;i<6;i++) printf("%d\n", direct(i));
  for(int i=0;i<4;i++) try { printf("%d\n", rethrow(i)); } catch(int v){ printf("main %d\n", v); }
  Base*d=new Derived; for(int i=2;i<6;i++) try { printf("%d\n", d->f(i)); } catch(std::exception&e){ puts(e.what()); }
  int n=outer(10); printf("\ndepth %d\n", n>=12);
 
  pthread_t t; pthread_create(&t,0,worker,0); pthread_cancel(t); void*r; pthread_join(t,&r); printf("%d\n", r==PTHREAD_CANCELED);
  pthread_create(&t,0,other,0); pthread_join(t,&r);
  std::vector<std::string> v; for(int i=0;i<100;i++) v.push_back(std::to_string(i)); printf("%zu\n", v.size());
  delete d; return 0; }
